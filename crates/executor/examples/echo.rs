//! An echo server with 64 connections on two workers: `echo [plain|reactor] [echoes a connection]`.
//!
//! `plain` workers sleep by themselves, and async-io's thread waits for the sockets. `reactor` workers wait in async-io by
//! `Builder::worker_main`. `strace -f -c` of both shows what a hop through another thread costs.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use async_io::Async;
use terrace_executor::{Builder, block_on};

const CONNECTIONS: usize = 64;
const MESSAGE: [u8; 32] = [7; 32];

async fn read(stream: &Async<TcpStream>, bytes: &mut [u8]) -> bool {
    let mut read = 0;
    while read < bytes.len() {
        let part = stream.read_with(|mut stream| stream.read(&mut bytes[read..]));
        match part.await.expect("receives") {
            0 => return false,
            count => read += count,
        }
    }
    true
}

async fn write(stream: &Async<TcpStream>, bytes: &[u8]) {
    let mut written = 0;
    while written < bytes.len() {
        let part = stream.write_with(|mut stream| stream.write(&bytes[written..]));
        written += part.await.expect("sends");
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "reactor".to_owned());
    let echoes = arguments
        .next()
        .map_or(100, |count| count.parse().expect("a number"));
    let builder = Builder::new().workers(2);
    let builder = match &*mode {
        "plain" => builder,
        "reactor" => builder.worker_main(|worker| async_io::block_on(worker)),
        other => panic!("no mode {other}: plain or reactor"),
    };
    let executor = builder.build();
    let spawner = executor.spawner();
    let served = executor.spawn(async move {
        let listener = Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, 0)).expect("binds");
        let address = listener.get_ref().local_addr().expect("is bound");
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                spawner.spawn(async move {
                    let stream = Async::<TcpStream>::connect(address)
                        .await
                        .expect("connects");
                    let mut answer = [0; MESSAGE.len()];
                    for _ in 0..echoes {
                        write(&stream, &MESSAGE).await;
                        assert!(read(&stream, &mut answer).await, "the server answers");
                        assert_eq!(answer, MESSAGE);
                    }
                })
            })
            .collect();
        let mut servers = Vec::new();
        for _ in 0..CONNECTIONS {
            let (stream, _) = listener.accept().await.expect("accepts");
            servers.push(spawner.spawn(async move {
                let mut bytes = [0; MESSAGE.len()];
                let mut served = 0;
                while read(&stream, &mut bytes).await {
                    write(&stream, &bytes).await;
                    served += 1;
                }
                served
            }));
        }
        for client in clients {
            client.await;
        }
        let mut served: usize = 0;
        for server in servers {
            served += server.await;
        }
        served
    });
    let start = std::time::Instant::now();
    let served = block_on(served);
    assert_eq!(served, CONNECTIONS * echoes);
    let parks = executor
        .metrics()
        .workers()
        .iter()
        .map(|worker| worker.park_count())
        .sum::<usize>();
    println!(
        "{mode}: {served} echoes in {:?}, {parks} parks",
        start.elapsed()
    );
}
