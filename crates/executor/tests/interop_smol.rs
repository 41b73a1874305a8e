//! Futures of smol run on the executor: sockets and timers, and blocking calls. Smol's reactor has a thread of its own,
//! and its blocking calls a pool of threads.
// ThreadSanitizer sees nothing of the system calls that reactors make.
#![cfg(not(any(terrace_shuttle, terrace_tsan, miri)))]

mod interop;

use interop::{CLIENTS, answer, message, on_workers};
use smol::io::{AsyncReadExt as _, AsyncWriteExt as _};
use smol::net::{TcpListener, TcpStream};
use std::net::{Ipv4Addr, Shutdown};
use std::time::{Duration, Instant};

#[test]
fn loopback_sockets() {
    on_workers(|executor| async move {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("binds");
        let address = listener.local_addr().expect("is bound");
        let clients: Vec<_> = (0..CLIENTS)
            .map(|i| {
                executor.spawn(async move {
                    let mut stream = TcpStream::connect(address).await.expect("connects");
                    stream.write_all(&message(i)).await.expect("sends");
                    stream.shutdown(Shutdown::Write).expect("ends its half");
                    let mut back = Vec::new();
                    stream.read_to_end(&mut back).await.expect("receives");
                    assert_eq!(back, answer(message(i)));
                })
            })
            .collect();
        for _ in 0..CLIENTS {
            let (mut stream, _) = listener.accept().await.expect("accepts");
            let serves = async move {
                let mut received = Vec::new();
                stream.read_to_end(&mut received).await.expect("receives");
                stream.write_all(&answer(received)).await.expect("sends");
            };
            executor.spawn(serves).detach();
        }
        for client in clients {
            client.await;
        }
    });
}

#[test]
fn timers_and_blocking_work() {
    on_workers(|executor| async move {
        let start = Instant::now();
        let sleepers: Vec<_> = (1..=5_u64)
            .map(|i| {
                let time = Duration::from_millis(5 * i);
                executor.spawn(async move {
                    smol::Timer::after(time).await;
                    let doubled = smol::unblock(move || i * 2).await;
                    start.elapsed() >= time && doubled == i * 2
                })
            })
            .collect();
        for sleeper in sleepers {
            assert!(sleeper.await, "no timer is early");
        }
    });
}
