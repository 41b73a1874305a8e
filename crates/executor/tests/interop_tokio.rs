//! Futures of tokio run on the executor; tokio's reactor and timers run in a thread of their own.
// ThreadSanitizer sees nothing of the system calls that reactors make.
#![cfg(not(any(terrace_shuttle, terrace_tsan, miri)))]

mod interop;

use std::future::{Future, poll_fn};
use std::net::Ipv4Addr;
use std::pin::pin;
use std::time::{Duration, Instant};

use interop::{CLIENTS, answer, message, on_workers};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

/// A tokio runtime that runs nothing but its drivers.
struct Reactor {
    handle: Handle,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Reactor {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .expect("a runtime can be made");
        let handle = runtime.handle().clone();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let _stopped = runtime.block_on(stopped);
        });
        Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _stopped = stop.send(());
        }
        let joined = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(joined.is_none_or(|ended| ended.is_ok()));
    }
}

/// Polls `future` where tokio's types find their runtime.
async fn within<F: Future>(handle: Handle, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(move |context| {
        let _entered = handle.enter();
        future.as_mut().poll(context)
    })
    .await
}

#[test]
fn loopback_sockets() {
    let reactor = Reactor::start();
    let handle = reactor.handle.clone();
    on_workers(move |executor| {
        let handle = handle.clone();
        within(handle.clone(), async move {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .await
                .expect("binds");
            let address = listener.local_addr().expect("is bound");
            let clients: Vec<_> = (0..CLIENTS)
                .map(|i| {
                    let client = within(handle.clone(), async move {
                        let mut stream = TcpStream::connect(address).await.expect("connects");
                        stream.write_all(&message(i)).await.expect("sends");
                        stream.shutdown().await.expect("ends its half");
                        let mut back = Vec::new();
                        stream.read_to_end(&mut back).await.expect("receives");
                        assert_eq!(back, answer(message(i)));
                    });
                    executor.spawn(client)
                })
                .collect();
            for _ in 0..CLIENTS {
                let (mut stream, _) = listener.accept().await.expect("accepts");
                let serves = within(handle.clone(), async move {
                    let mut received = Vec::new();
                    stream.read_to_end(&mut received).await.expect("receives");
                    stream.write_all(&answer(received)).await.expect("sends");
                });
                executor.spawn(serves).detach();
            }
            for client in clients {
                client.await;
            }
        })
    });
}

#[test]
fn timers() {
    let reactor = Reactor::start();
    let handle = reactor.handle.clone();
    on_workers(move |executor| {
        let handle = handle.clone();
        async move {
            let start = Instant::now();
            let sleepers: Vec<_> = (1..=5)
                .map(|i| {
                    let time = Duration::from_millis(5 * i);
                    executor.spawn(within(handle.clone(), async move {
                        tokio::time::sleep(time).await;
                        start.elapsed() >= time
                    }))
                })
                .collect();
            for sleeper in sleepers {
                assert!(sleeper.await, "no timer is early");
            }
        }
    });
}
