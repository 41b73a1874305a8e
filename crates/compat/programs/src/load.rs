//! A fixed number of requests to the HTTP server, from several connections, all in this process.

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::http::{ask, connect, serve};

/// Connections that ask at once.
const CONNECTIONS: usize = 16;
/// Requests before the clock runs, each connection's.
const WARM_UP: usize = 50;

/// What the process has used of processors.
fn cpu_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is to a `timespec`, which the call writes.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) };
    assert_eq!(result, 0, "the system has this clock");
    // SAFETY: the call has succeeded, and so has written it.
    let time = unsafe { time.assume_init() };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Prints one line: nanoseconds of the whole, of processors, and of single requests.
pub(crate) fn run(requests: &str) -> Result<(), Failure> {
    let each = requests.parse::<usize>()?.div_ceil(CONNECTIONS);
    smol::block_on(async {
        let address = serve().await?;
        let mut servers = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut server = connect(address).await?;
            for _ in 0..WARM_UP {
                ask(&mut server, "/sum/20/22", "").await?;
            }
            servers.push(server);
        }
        let (start, cpu) = (Instant::now(), cpu_time());
        let clients = servers.into_iter().map(|mut server| {
            smol::spawn(async move {
                let mut times = Vec::with_capacity(each);
                for _ in 0..each {
                    let start = Instant::now();
                    let (_, answer) = ask(&mut server, "/sum/20/22", "").await?;
                    times.push(start.elapsed());
                    if answer != "42" {
                        return Err(Failure::from("a wrong answer"));
                    }
                }
                Ok(times)
            })
        });
        let clients: Vec<_> = clients.collect();
        let mut times = Vec::new();
        for client in clients {
            times.extend(client.await?);
        }
        let (wall, cpu) = (start.elapsed(), cpu_time() - cpu);
        times.sort_unstable();
        let at = |part: usize| times[(times.len() - 1) * part / 1000].as_nanos();
        println!(
            r#"{{"requests":{},"wall_ns":{},"cpu_ns":{},"p50_ns":{},"p99_ns":{},"p999_ns":{}}}"#,
            times.len(),
            wall.as_nanos(),
            cpu.as_nanos(),
            at(500),
            at(990),
            at(999),
        );
        Ok(())
    })
}
