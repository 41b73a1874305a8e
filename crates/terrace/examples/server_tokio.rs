//! A server on tokio's sockets. Each worker waits in a reactor of tokio, so no further thread takes part.
//!
//! ```sh
//! cargo run -p terrace --example server_tokio
//! ```

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use terrace::executor::{Builder, Current, block_on};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Clients at the same time.
const CLIENTS: u8 = 10;

/// Sends each byte back, one larger, until the client closes.
async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    while stream.read(&mut byte).await? > 0 {
        stream.write_all(&[byte[0] + 1]).await?;
    }
    Ok(())
}

/// Accepts clients as long as the task lives, and spawns a task for each beside itself.
async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _address) = listener.accept().await?;
        Current::spawn(answer(stream)).detach();
    }
}

async fn ask(server: SocketAddr, number: u8) -> io::Result<u8> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(&[number]).await?;
    stream.read_u8().await
}

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // The worker's loop is a future: tokio polls it, and sleeps in its reactor where there is nothing to do.
    let pool = Builder::new()
        .workers(1)
        .worker_main(move |worker| runtime.block_on(worker))
        .try_build()?;

    // tokio's sockets are made inside of its runtime: in a task.
    let listener = pool.spawn(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let listener = block_on(listener)?;
    let address = listener.local_addr()?;
    let server = pool.spawn(serve(listener));

    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| pool.spawn(ask(address, number)))
        .collect();
    let mut answers = Vec::new();
    for client in clients {
        answers.push(block_on(client)?);
    }

    drop(server);
    println!("{CLIENTS} clients were answered: {answers:?}");
    assert!(answers.into_iter().eq(1..=CLIENTS));
    Ok(())
}
