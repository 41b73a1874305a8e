//! A server and its clients; a thread of `async-io` waits for the sockets, and wakes the tasks.
//!
//! ```sh
//! cargo run -p terrace --example server
//! ```

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use async_io::Async;
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use terrace::executor::{Builder, Current, block_on};

/// Clients at the same time.
const CLIENTS: u8 = 10;

/// Sends each byte back, one larger, until the client closes.
async fn answer(mut stream: Async<TcpStream>) -> io::Result<()> {
    let mut byte = [0];
    while stream.read(&mut byte).await? > 0 {
        stream.write_all(&[byte[0] + 1]).await?;
    }
    Ok(())
}

/// Accepts clients as long as the task lives, and spawns a task for each beside itself.
async fn serve(listener: Async<TcpListener>) -> io::Result<()> {
    loop {
        let (stream, _address) = listener.accept().await?;
        Current::spawn(answer(stream)).detach();
    }
}

async fn ask(server: SocketAddr, number: u8) -> io::Result<u8> {
    let mut stream = Async::<TcpStream>::connect(server).await?;
    stream.write_all(&[number]).await?;
    let mut byte = [0];
    stream.read_exact(&mut byte).await?;
    Ok(byte[0])
}

fn main() -> io::Result<()> {
    let pool = Builder::new().workers(2).try_build()?;
    let listener = Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.get_ref().local_addr()?;
    let server = pool.spawn(serve(listener));

    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| pool.spawn(ask(address, number)))
        .collect();
    let mut answers = Vec::new();
    for client in clients {
        answers.push(block_on(client)?);
    }

    // A handle that is dropped cancels its task, and the listener closes with it.
    drop(server);
    println!("{CLIENTS} clients were answered: {answers:?}");
    assert!(answers.into_iter().eq(1..=CLIENTS));
    Ok(())
}
