//! Futures of async-io run on the executor; its reactor runs in a thread of its own.
// ThreadSanitizer sees nothing of the system calls that reactors make.
#![cfg(not(any(terrace_shuttle, terrace_tsan, miri)))]

mod interop;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use async_io::{Async, Timer};
use interop::{CLIENTS, answer, message, on_workers};

async fn read_to_end(stream: &Async<TcpStream>) -> Vec<u8> {
    let mut all = Vec::new();
    let mut part = [0; 64];
    loop {
        match stream.read_with(|mut inner| inner.read(&mut part)).await {
            Ok(0) => return all,
            Ok(count) => all.extend_from_slice(&part[..count]),
            Err(error) => panic!("receives: {error}"),
        }
    }
}

async fn write_all(stream: &Async<TcpStream>, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let sent = stream.write_with(|mut inner| inner.write(bytes)).await;
        bytes = &bytes[sent.expect("sends")..];
    }
    stream
        .get_ref()
        .shutdown(Shutdown::Write)
        .expect("ends its half");
}

#[test]
fn loopback_sockets() {
    on_workers(|executor| async move {
        let listener = Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, 0)).expect("binds");
        let address = listener.get_ref().local_addr().expect("is bound");
        let clients: Vec<_> = (0..CLIENTS)
            .map(|i| {
                executor.spawn(async move {
                    let stream = Async::<TcpStream>::connect(address)
                        .await
                        .expect("connects");
                    write_all(&stream, &message(i)).await;
                    assert_eq!(read_to_end(&stream).await, answer(message(i)));
                })
            })
            .collect();
        for _ in 0..CLIENTS {
            let (stream, _) = listener.accept().await.expect("accepts");
            let serves = async move {
                let received = read_to_end(&stream).await;
                write_all(&stream, &answer(received)).await;
            };
            executor.spawn(serves).detach();
        }
        for client in clients {
            client.await;
        }
    });
}

#[test]
fn timers() {
    on_workers(|executor| async move {
        let start = Instant::now();
        let sleepers: Vec<_> = (1..=5)
            .map(|i| {
                let time = Duration::from_millis(5 * i);
                executor.spawn(async move {
                    Timer::after(time).await;
                    start.elapsed() >= time
                })
            })
            .collect();
        for sleeper in sleepers {
            assert!(sleeper.await, "no timer is early");
        }
    });
}
