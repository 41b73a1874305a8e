//! Sockets: clients and servers of one pool, over the loopback device.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener, TcpStream as StdStream};

use crate::spawn::{Contender, Spawner};

/// What a client sends and a server echoes.
const MESSAGE: [u8; 32] = [7; 32];

/// A library of sockets.
pub trait Net: 'static {
    /// One end of a connection.
    type Stream: Send + 'static;

    /// Takes over a connected socket. The caller is a task of the contender.
    fn adopt(stream: StdStream) -> Self::Stream;

    /// Fills `bytes`. An error if the other end has closed.
    fn read(
        stream: &mut Self::Stream,
        bytes: &mut [u8],
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// Sends all of `bytes`.
    fn write(
        stream: &mut Self::Stream,
        bytes: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;
}

/// async-io's sockets.
pub struct AsyncIo;

impl Net for AsyncIo {
    type Stream = async_io::Async<StdStream>;

    fn adopt(stream: StdStream) -> Self::Stream {
        async_io::Async::new(stream).expect("the reactor takes it")
    }

    async fn read(stream: &mut Self::Stream, bytes: &mut [u8]) -> io::Result<()> {
        futures_lite::AsyncReadExt::read_exact(stream, bytes).await
    }

    async fn write(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
        futures_lite::AsyncWriteExt::write_all(stream, bytes).await
    }
}

/// tokio's sockets.
pub struct TokioNet;

impl Net for TokioNet {
    type Stream = tokio::net::TcpStream;

    fn adopt(stream: StdStream) -> Self::Stream {
        stream.set_nonblocking(true).expect("is a socket");
        tokio::net::TcpStream::from_std(stream).expect("the reactor takes it")
    }

    async fn read(stream: &mut Self::Stream, bytes: &mut [u8]) -> io::Result<()> {
        tokio::io::AsyncReadExt::read_exact(stream, bytes).await?;
        Ok(())
    }

    async fn write(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
        tokio::io::AsyncWriteExt::write_all(stream, bytes).await
    }
}

/// Echoes until the client has closed.
async fn server<N: Net>(stream: StdStream) {
    let mut stream = N::adopt(stream);
    let mut bytes = [0; MESSAGE.len()];
    while N::read(&mut stream, &mut bytes).await.is_ok() {
        N::write(&mut stream, &bytes)
            .await
            .expect("the client reads");
    }
}

/// Sends so many requests, one after the answer to the other.
async fn client<N: Net>(mut stream: N::Stream, requests: usize) -> N::Stream {
    let mut answer = [0; MESSAGE.len()];
    for _ in 0..requests {
        N::write(&mut stream, &MESSAGE).await.expect("sends");
        N::read(&mut stream, &mut answer)
            .await
            .expect("the server answers");
    }
    assert_eq!(answer, MESSAGE);
    stream
}

/// Both ends of a connection.
fn connection() -> (StdStream, StdStream) {
    let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address: SocketAddr = listener.local_addr().expect("is bound");
    let near = StdStream::connect(address).expect("connects");
    let (far, _) = listener.accept().expect("accepts");
    for stream in [&near, &far] {
        stream.set_nodelay(true).expect("is a socket");
    }
    (near, far)
}

/// Connections that live as long as the row.
struct Echo<C: Contender, N: Net> {
    contender: C,
    clients: Vec<N::Stream>,
    servers: Vec<<C::Spawner as Spawner>::Task<()>>,
}

impl<C: Contender, N: Net> Echo<C, N> {
    fn open(contender: C, connections: usize) -> Self {
        let spawner = contender.spawner();
        let mut echo = Self {
            contender,
            clients: Vec::new(),
            servers: Vec::new(),
        };
        // At once: where each worker has a reactor of its own, each adopts some.
        let pairs: Vec<_> = (0..connections).map(|_| connection()).collect();
        let mut adopted = Vec::new();
        for (near, far) in pairs {
            echo.servers.push(spawner.spawn(server::<N>(far)));
            adopted.push(spawner.spawn(async { N::adopt(near) }));
        }
        echo.clients = echo.contender.run(async {
            let mut clients = Vec::new();
            for client in adopted {
                clients.push(client.await);
            }
            clients
        });
        echo
    }

    fn exchange(&mut self, requests: usize) {
        let spawner = self.contender.spawner();
        let clients: Vec<_> = self
            .clients
            .drain(..)
            .map(|stream| spawner.spawn(client::<N>(stream, requests)))
            .collect();
        self.contender.run(async {
            for client in clients {
                self.clients.push(client.await);
            }
        });
    }
}

impl<C: Contender, N: Net> Drop for Echo<C, N> {
    fn drop(&mut self) {
        self.clients.clear();
        self.contender.run(async {
            for server in self.servers.drain(..) {
                server.await;
            }
        });
    }
}

/// Clients that each send `requests` requests to a server of their own, over the loopback device. The connections are open
/// before.
pub fn echo<C: Contender, N: Net>(
    contender: C,
    connections: usize,
    requests: usize,
) -> impl FnMut() {
    let mut echo = Echo::<C, N>::open(contender, connections);
    move || echo.exchange(requests)
}
