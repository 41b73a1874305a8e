//! An echo server and its clients on one executor; `async-io` waits for the sockets.
//!
//! ```sh
//! cargo run -p terrace-executor --example echo_server
//! ```
//!
//! Terrace has no IO of its own. A reactor such as async-io's runs in a thread that it starts, and wakes the tasks
//! whose sockets are ready. Any crate that works with wakers will do. A project of its own depends on `async-io` and
//! `smol`, too.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use async_io::Async;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use terrace_executor::{Builder, StaticExecutor, block_on};

/// Clients at the same time.
const CLIENTS: usize = 20;
/// Messages that each sends.
const MESSAGES: usize = 50;

/// Sends each message back, until the client closes.
async fn echo(mut stream: Async<TcpStream>) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..read]).await?;
    }
}

/// Accepts clients as long as the task lives, and spawns a task for each.
async fn serve(executor: &'static StaticExecutor, listener: Async<TcpListener>) -> io::Result<()> {
    loop {
        let (stream, _address) = listener.accept().await?;
        executor.spawn(echo(stream)).detach();
    }
}

/// Sends messages, each after the answer to the last one. Returns how many bytes came back.
async fn client(number: usize, server: SocketAddr) -> io::Result<usize> {
    let mut stream = Async::<TcpStream>::connect(server).await?;
    let mut bytes = 0;
    for message in 0..MESSAGES {
        let sent = format!("message {message} of client {number}");
        stream.write_all(sent.as_bytes()).await?;
        let mut answer = vec![0; sent.len()];
        stream.read_exact(&mut answer).await?;
        assert_eq!(answer, sent.as_bytes());
        bytes += answer.len();
    }
    Ok(bytes)
}

fn main() -> io::Result<()> {
    let executor = Builder::new().workers(2).try_build_static()?;
    let listener = Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.get_ref().local_addr()?;
    let server = executor.spawn(serve(executor, listener));

    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| executor.spawn(client(number, address)))
        .collect();
    let mut bytes = 0;
    for client in clients {
        bytes += block_on(client)?;
    }

    // A handle that is dropped cancels its task, and the listener closes with it.
    drop(server);
    println!("{CLIENTS} clients, {MESSAGES} messages each: {bytes} bytes came back");
    Ok(())
}
