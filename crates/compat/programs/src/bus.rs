//! A D-Bus service and its client, both on zbus, over the bus that the environment names.

use futures_lite::StreamExt;
use zbus::object_server::SignalEmitter;
use zbus::{connection, interface, proxy};

use crate::Failure;

/// The service: it greets, and counts.
struct Greeter {
    greeted: u32,
}

#[interface(name = "invalid.example.Greeter")]
impl Greeter {
    /// Greets the caller by `name`, and signals it to all clients.
    async fn greet(
        &mut self,
        name: &str,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> zbus::fdo::Result<String> {
        if name.is_empty() {
            return Err(zbus::fdo::Error::InvalidArgs("a name is missing".into()));
        }
        self.greeted += 1;
        emitter.greeted(name, self.greeted).await?;
        self.count_changed(&emitter).await?;
        Ok(format!("Hello, {name}!"))
    }

    /// How many calls it has greeted.
    #[zbus(property)]
    async fn count(&self) -> u32 {
        self.greeted
    }

    /// The service has greeted the caller that gave this `name`.
    #[zbus(signal)]
    async fn greeted(emitter: &SignalEmitter<'_>, name: &str, count: u32) -> zbus::Result<()>;
}

#[proxy(
    interface = "invalid.example.Greeter",
    default_service = "invalid.example.Greeter",
    default_path = "/invalid/example/Greeter"
)]
trait Greeter {
    fn greet(&self, name: &str) -> zbus::Result<String>;

    #[zbus(property)]
    fn count(&self) -> zbus::Result<u32>;

    #[zbus(signal)]
    fn greeted(&self, name: &str, count: u32) -> zbus::Result<()>;
}

pub(crate) fn run() -> Result<(), Failure> {
    smol::block_on(async {
        let _service = connection::Builder::session()?
            .name("invalid.example.Greeter")?
            .serve_at("/invalid/example/Greeter", Greeter { greeted: 0 })?
            .build()
            .await?;
        let client = zbus::Connection::session().await?;
        let greeter = GreeterProxy::builder(&client)
            .cache_properties(zbus::proxy::CacheProperties::No)
            .build()
            .await?;
        let mut signals = greeter.receive_greeted().await?;
        for name in ["anna", "boris", ""] {
            match greeter.greet(name).await {
                Ok(answer) => {
                    println!("{answer}");
                    let signal = signals.next().await.ok_or("no signal came")?;
                    let args = signal.args()?;
                    println!("signal: {} is number {}", args.name, args.count);
                }
                Err(error) => println!("refused: {error}"),
            }
        }
        println!("greeted {}", greeter.count().await?);
        Ok(())
    })
}
