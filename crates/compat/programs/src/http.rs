//! An HTTP server and client: hyper on smol's executor.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use smol::net::{TcpListener, TcpStream};
use smol_hyper::rt::FuturesIo;

use crate::Failure;

/// Answers `/sum/A/B` with the sum, and `/echo` with the request's body.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let words: Vec<&str> = path.split('/').skip(1).collect();
    let body = match words[..] {
        ["sum", a, b] => match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => Some(Bytes::from(a.wrapping_add(b).to_string())),
            _ => None,
        },
        ["echo"] => request
            .into_body()
            .collect()
            .await
            .ok()
            .map(|body| body.to_bytes()),
        _ => None,
    };
    let status = if body.is_some() {
        StatusCode::OK
    } else {
        StatusCode::NOT_FOUND
    };
    let mut response = Response::new(Full::new(body.unwrap_or_default()));
    *response.status_mut() = status;
    Ok(response)
}

/// Starts a server on loopback, whose connections are tasks of their own. It runs to the end of the program.
pub(crate) async fn serve() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let accept = async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection =
                http1::Builder::new().serve_connection(FuturesIo::new(stream), service_fn(answer));
            // A client that leaves ends its connection with an error.
            smol::spawn(async { drop(connection.await) }).detach();
        }
    };
    smol::spawn(accept).detach();
    Ok(address)
}

/// A connection to the server.
pub(crate) async fn connect(address: SocketAddr) -> Result<SendRequest<Full<Bytes>>, Failure> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(FuturesIo::new(stream)).await?;
    smol::spawn(async { drop(connection.await) }).detach();
    Ok(sender)
}

/// Sends a request, and collects what comes back.
pub(crate) async fn ask(
    server: &mut SendRequest<Full<Bytes>>,
    path: &str,
    body: &str,
) -> Result<(StatusCode, Bytes), Failure> {
    let request = Request::builder()
        .uri(path)
        .header("host", "localhost")
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))?;
    server.ready().await?;
    let response = server.send_request(request).await?;
    let status = response.status();
    Ok((status, response.into_body().collect().await?.to_bytes()))
}

/// Two clients at once, each of which sends requests one after the other.
pub(crate) fn run() -> Result<(), Failure> {
    let client = |address, name: &'static str| async move {
        let mut server = connect(address).await?;
        let mut lines = Vec::new();
        for (path, body) in [
            ("/sum/20/22", ""),
            ("/echo", name),
            ("/nothing", ""),
            ("/sum/1/x", ""),
        ] {
            let (status, answer) = ask(&mut server, path, body).await?;
            lines.push(format!("{name}: {path}: {status} {answer:?}"));
        }
        Ok::<_, Failure>(lines)
    };
    smol::block_on(async {
        let address = serve().await?;
        let clients = ["anna", "boris"].map(|name| smol::spawn(client(address, name)));
        for client in clients {
            client.await?.iter().for_each(|line| println!("{line}"));
        }
        Ok(())
    })
}
