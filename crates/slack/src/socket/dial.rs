//! Opens one WebSocket: through the proxy that the environment names, as every other
//! call of the binary goes, and trusting whom the machine config names. What is on
//! this machine is reached without a proxy.

use std::sync::Arc;

use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config, tungstenite,
};
use url::Url;

use crate::http::is_loopback;

/// A proxy that says more than this before it lets us through is none.
const LONGEST_HEAD: usize = 16 * 1024;

/// Whom to trust on an encrypted connection.
pub(super) type Trust = Arc<rustls::ClientConfig>;
pub(super) type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects; why not is a sentence without the address's secret.
pub(super) async fn dial(address: &str, trust: Trust) -> Result<Stream, String> {
    let url = Url::parse(address).map_err(|_| "Slack gave no address to connect to".to_owned())?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let encrypted = url.scheme() == "wss";
    let port = url.port().unwrap_or(if encrypted { 443 } else { 80 });
    let stream = match proxy_for(&url) {
        None => TcpStream::connect((host.trim_matches(['[', ']']), port))
            .await
            .map_err(|error| format!("{host} cannot be reached: {error}"))?,
        Some(proxy) => through(&proxy, &host, port).await?,
    };
    let connector = match encrypted {
        true => Connector::Rustls(trust),
        false => Connector::Plain,
    };
    let opening = client_async_tls_with_config(address, stream, None, Some(connector));
    match opening.await {
        Ok((stream, _)) => Ok(stream),
        Err(tungstenite::Error::Http(answer)) => Err(format!(
            "{host} answers HTTP {} instead of a WebSocket",
            answer.status().as_u16()
        )),
        Err(error) => Err(format!("no WebSocket with {host}: {error}")),
    }
}

/// The proxy for an address, as the environment has it.
fn proxy_for(url: &Url) -> Option<Intercept> {
    if is_loopback(url) {
        return None;
    }
    // Proxies are named for `http` and `https`.
    let scheme = if url.scheme() == "wss" {
        "https"
    } else {
        "http"
    };
    let wanted = format!("{scheme}://{}/", url.host_str()?);
    Matcher::from_system().intercept(&wanted.parse().ok()?)
}

async fn through(proxy: &Intercept, host: &str, port: u16) -> Result<TcpStream, String> {
    let at = proxy.uri();
    let name = at.host().unwrap_or_default();
    if at.scheme_str() != Some("http") {
        let scheme = at.scheme_str().unwrap_or_default();
        return Err(format!(
            "the proxy {name} is named with {scheme}://; a WebSocket goes through http:// proxies only"
        ));
    }
    let mut stream = TcpStream::connect((name, at.port_u16().unwrap_or(80)))
        .await
        .map_err(|error| format!("the proxy {name} cannot be reached: {error}"))?;
    let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
    if let Some(secret) = proxy.basic_auth().and_then(|auth| auth.to_str().ok()) {
        request.push_str(&format!("Proxy-Authorization: {secret}\r\n"));
    }
    request.push_str("\r\n");
    let talk = async {
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte: what follows the head belongs to the other side.
        while !head.ends_with(b"\r\n\r\n") && head.len() < LONGEST_HEAD {
            head.push(stream.read_u8().await?);
        }
        std::io::Result::Ok(head)
    };
    let head = talk
        .await
        .map_err(|error| format!("the proxy {name} hung up: {error}"))?;
    let first = String::from_utf8_lossy(&head);
    let first = first.lines().next().unwrap_or_default();
    match first.split(' ').nth(1) {
        Some("200") => Ok(stream),
        _ => Err(format!(
            "the proxy {name} does not let a connection to {host} through: {first}"
        )),
    }
}
