//! A TCP chat: a server that passes each line on to all others, and clients that talk in turn.

use std::net::Ipv4Addr;

use smol::channel::{Receiver, Sender, unbounded};
use smol::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use smol::net::{TcpListener, TcpStream};
use smol::stream::StreamExt;

use crate::Failure;

/// What a connection tells the server.
enum Event {
    /// A client has come. Lines for it go into the channel.
    Joins(String, Sender<String>),
    Says(String, String),
    Leaves(String),
}

/// Passes events on, in the order in which they come.
async fn dispatch(events: Receiver<Event>) {
    let mut clients: Vec<(String, Sender<String>)> = Vec::new();
    while let Ok(event) = events.recv().await {
        let (from, line) = match event {
            Event::Joins(name, lines) => {
                clients.push((name.clone(), lines));
                (None, format!("{name} has come"))
            }
            Event::Says(name, line) => (Some(name.clone()), format!("{name}: {line}")),
            Event::Leaves(name) => {
                clients.retain(|(other, _)| *other != name);
                (None, format!("{name} has left"))
            }
        };
        for (_, lines) in clients
            .iter()
            .filter(|(name, _)| from.as_ref() != Some(name))
        {
            // A client that leaves takes no more lines.
            drop(lines.send(line.clone()).await);
        }
    }
}

/// Serves one client: its first line is its name.
async fn serve(stream: TcpStream, events: Sender<Event>) -> Result<(), Failure> {
    let mut lines = BufReader::new(stream.clone()).lines();
    let name = lines.next().await.ok_or("a client without a name")??;
    let (sender, outgoing) = unbounded::<String>();
    events.send(Event::Joins(name.clone(), sender)).await?;
    let mut writer = stream;
    let write = smol::spawn(async move {
        while let Ok(line) = outgoing.recv().await {
            writer.write_all(format!("{line}\n").as_bytes()).await?;
        }
        Ok::<_, Failure>(())
    });
    while let Some(line) = lines.next().await {
        events.send(Event::Says(name.clone(), line?)).await?;
    }
    events.send(Event::Leaves(name)).await?;
    write.await
}

/// A client: its name, what it writes to, and the lines that it gets.
struct Client {
    name: &'static str,
    stream: TcpStream,
    lines: smol::io::Lines<BufReader<TcpStream>>,
}

impl Client {
    async fn say(&mut self, line: &str) -> Result<(), Failure> {
        self.stream
            .write_all(format!("{line}\n").as_bytes())
            .await?;
        Ok(())
    }

    /// Waits for the next line, and prints it.
    async fn hear(&mut self) -> Result<(), Failure> {
        let line = self.lines.next().await.ok_or("the server has left")??;
        println!("{} hears: {line}", self.name);
        Ok(())
    }
}

pub(crate) fn run() -> Result<(), Failure> {
    smol::block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (events, incoming) = unbounded();
        smol::spawn(dispatch(incoming)).detach();
        smol::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                smol::spawn(serve(stream, events.clone())).detach();
            }
        })
        .detach();

        let mut clients: Vec<Client> = Vec::new();
        for name in ["anna", "boris", "clara"] {
            let stream = TcpStream::connect(address).await?;
            let lines = BufReader::new(stream.clone()).lines();
            clients.push(Client {
                name,
                stream,
                lines,
            });
            let new = clients.len() - 1;
            clients[new].say(name).await?;
            // All that are there hear of it, the new one, too.
            for client in &mut clients {
                client.hear().await?;
            }
        }
        for round in 0..3 {
            for speaker in 0..clients.len() {
                clients[speaker].say(&format!("line {round}")).await?;
                for (at, client) in clients.iter_mut().enumerate() {
                    if at != speaker {
                        client.hear().await?;
                    }
                }
            }
        }
        let last = clients.pop().ok_or("there are clients")?;
        last.stream.shutdown(smol::net::Shutdown::Write)?;
        for client in &mut clients {
            client.hear().await?;
        }
        Ok(())
    })
}
