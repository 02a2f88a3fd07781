//! Pictures of a page, taken by a headless browser in a cell of its own: a file of the
//! worktree, or what a server shows that is started in the same cell. There is no network
//! but the cell's own loopback. The picture comes out through one folder that nothing else
//! uses, and counts only when it is a whole PNG.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use butler_policy::Permit;
use butler_sandbox::Network;
use url::Url;

use super::confine;
use crate::{PlaceError, Surroundings, ToolContext, Workplace, content::picture};

/// By the names that distributions give it.
const BROWSERS: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chromium-headless-shell",
];

const NO_BROWSER: &str = "failed: there is no browser on this machine (looked for chromium and \
    google-chrome on PATH), so no picture can be taken; say so and go on without";

/// What distributions' browsers read at their start, besides themselves.
const SETTINGS: [&str; 3] = ["/etc/chromium.d", "/etc/chromium", "/etc/fonts"];

/// For the server to come up, and for the page to be drawn.
const WALL: Duration = Duration::from_secs(120);
/// A larger picture says no more.
const FILE_BYTES: u64 = 16 << 20;
/// What the browser does not need for one picture.
const FLAGS: &str = "--headless=new --no-sandbox --no-zygote --disable-gpu --disable-dev-shm-usage \
    --hide-scrollbars --no-first-run --disable-extensions --disable-background-networking \
    --disable-component-update --disable-sync --mute-audio --no-proxy-server \
    --force-color-profile=srgb --font-render-hinting=none --virtual-time-budget=5000";

/// What a picture is taken of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shot {
    /// A file from the root, or an address on this machine when something serves it.
    pub page: String,
    pub serve: Option<String>,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
}

impl Shot {
    /// What it is called in a list, as in `site/index.html, 1280×800`.
    pub fn title(&self) -> String {
        format!("{}, {}×{}", self.page, self.width, self.height)
    }

    /// A name for its file.
    pub(crate) fn file_name(&self) -> String {
        let tail = self.page.split("://").last().unwrap_or_default();
        let plain = tail.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let plain = plain.trim_matches('-');
        format!("{plain}-{}x{}.png", self.width, self.height)
    }

    /// Where the browser looks.
    fn address(&self, place: &Workplace) -> Result<Url, String> {
        if self.serve.is_some() {
            let url = Url::parse(&self.page).map_err(|_| served_where(&self.page))?;
            let here = matches!(url.host_str(), Some("127.0.0.1" | "localhost"));
            return match url.port_or_known_default() {
                Some(_) if here && url.scheme() == "http" => Ok(url),
                _ => Err(served_where(&self.page)),
            };
        }
        let told = |error: PlaceError| format!("failed: {error}");
        let inside = place.locate(&self.page).map_err(told)?;
        place.open_file(&inside).map_err(told)?;
        let path = place.root().join(inside.as_str());
        Url::from_file_path(path).map_err(|()| "failed: the page has no address".to_owned())
    }
}

fn served_where(page: &str) -> String {
    format!(
        "refused: with `serve`, `page` is where it is served, as http://127.0.0.1:8000/; `{page}` is not on this machine"
    )
}

/// Whether a picture can be taken here.
pub fn has_browser() -> bool {
    browser().is_some()
}

fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let mut all = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.find(|program| program.is_file())
}

/// Takes a picture, or says why there is none.
pub(crate) async fn take(
    context: &ToolContext,
    permit: &Permit,
    shot: &Shot,
) -> Result<Vec<u8>, String> {
    let place = context.workplace();
    let address = shot.address(place)?;
    let browser = browser().ok_or(NO_BROWSER)?;
    let out = Out::make(place)?;
    let script = script(&browser, shot, &address, &out.0);
    let sandbox = context.sandbox.as_ref().ok_or(confine::NO_JAIL)?;
    let mut profile = confine::profile(place, Network::Loopback, WALL);
    profile.writable.push(out.0.clone());
    let settings = SETTINGS.iter().map(PathBuf::from);
    profile
        .protected
        .extend(settings.filter(|path| path.exists()));
    let mut command = confine::shell(place, &script, Network::Loopback);
    command.sockets = true;
    context.progress(format!("taking a picture of {}", shot.page));
    let running = if permit.unconfined() {
        sandbox.run_unconfined(&command, &profile, context.cancel(), None)
    } else {
        sandbox.run(&command, &profile, context.cancel(), None)
    };
    let exit = running
        .await
        .map_err(|error| format!("failed: {}", confine::chain(&error)))?;
    out.picture().map_err(|problem| {
        let said = confine::output(&exit, 2_000);
        let how = confine::verdict(&exit);
        format!("failed: {problem} ({how})\n{said}")
    })
}

/// How a page looks, and how it looked where the branch began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Both side by side; only the page as it is, where there was none before.
    pub picture: Vec<u8>,
    pub had_before: bool,
}

/// Takes a page twice, in the worktree and where its branch began, and puts both side by
/// side. Nothing of this asks anybody: what needed a click is not taken again.
/// Fails: says why there is no picture.
pub async fn before_and_after(
    context: &ToolContext,
    permit: &Permit,
    shot: &Shot,
) -> Result<Compared, String> {
    let after = take(context, permit, shot).await?;
    let before = match before(context, permit, shot).await {
        Ok(before) => before,
        Err(problem) => {
            tracing::info!(problem, page = shot.page, "there is no picture of before");
            return Ok(Compared {
                picture: after,
                had_before: false,
            });
        }
    };
    Ok(Compared {
        picture: side_by_side(context, permit, shot, [&before, &after]).await?,
        had_before: true,
    })
}

async fn before(context: &ToolContext, permit: &Permit, shot: &Shot) -> Result<Vec<u8>, String> {
    let past = context.past.as_ref().ok_or("the branch has no past here")?;
    let cancel = || context.cancel().clone();
    let commit = past.commit(cancel()).await?;
    let laid_out = past.lay_out(commit, Vec::new(), cancel()).await?;
    let around = context.workplace().surroundings().clone();
    let place = Workplace::open(&laid_out.folder, Vec::new(), around);
    let place = place.map_err(|error| error.to_string())?;
    take(&context.at(place), permit, shot).await
}

/// The browser is the one program here that can draw.
async fn side_by_side(
    context: &ToolContext,
    permit: &Permit,
    shot: &Shot,
    pictures: [&[u8]; 2],
) -> Result<Vec<u8>, String> {
    let out = Out::make(context.workplace())?;
    let failed = |error: std::io::Error| format!("failed: {error}");
    for (name, bytes) in ["before.png", "after.png"].iter().zip(pictures) {
        fs::write(out.0.join(name), bytes).map_err(failed)?;
    }
    fs::write(out.0.join("index.html"), SIDE_BY_SIDE).map_err(failed)?;
    let around = Surroundings {
        attached: context.workplace().surroundings().attached.clone(),
        home: context.workplace().surroundings().home.clone(),
        ..Surroundings::default()
    };
    let place = Workplace::open(&out.0, Vec::new(), around).map_err(|error| error.to_string())?;
    let both = Shot {
        page: "index.html".to_owned(),
        serve: None,
        width: 2 * shot.width + 48,
        height: shot.height + 56,
    };
    take(&context.at(place), permit, &both).await
}

const SIDE_BY_SIDE: &str = "<!doctype html><meta charset=utf-8><style>
body{margin:0;background:#fff;color:#222;font:600 18px sans-serif;display:flex;gap:16px;padding:0 16px}
figure{margin:0}figcaption{padding:8px 0}img{display:block;outline:1px solid #999}</style>
<figure><figcaption>Before</figcaption><img src=before.png></figure>
<figure><figcaption>After</figcaption><img src=after.png></figure>";

/// Starts the server if there is one, waits until it listens, and takes the picture. All
/// of it ends with the cell.
fn script(browser: &Path, shot: &Shot, address: &Url, out: &Path) -> String {
    let picture = quoted(&out.join(PICTURE).display().to_string());
    let shoot = format!(
        "export XDG_CONFIG_HOME=/tmp/browser XDG_CACHE_HOME=/tmp/browser; {} {FLAGS} \
         --user-data-dir=/tmp/browser/profile --window-size={},{} --screenshot={picture} {}",
        quoted(&browser.display().to_string()),
        shot.width,
        shot.height,
        quoted(address.as_str()),
    );
    let (Some(serve), Some(port)) = (&shot.serve, address.port_or_known_default()) else {
        return shoot;
    };
    format!(
        "set -m; bash -c {} >/tmp/served 2>&1 & server=$!; trap 'kill -KILL -- -$server 2>/dev/null' EXIT\n\
         until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do\n\
         kill -0 $server 2>/dev/null || {{ echo 'the server ended before it listened on port {port}:'; tail -c 1500 /tmp/served; exit 3; }}\n\
         sleep 0.1; done\n{shoot}",
        quoted(serve),
    )
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

const PICTURE: &str = "picture.png";

/// The one folder that a browser writes to; gone with this value.
struct Out(PathBuf);

impl Out {
    /// Beside the thread's files, where no other cell looks.
    fn make(place: &Workplace) -> Result<Self, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let beside = place.surroundings().attached.as_deref();
        let beside = beside.and_then(Path::parent);
        let beside = beside.map_or_else(env::temp_dir, Path::to_owned);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = beside.join(format!(".picture-{}-{number}", std::process::id()));
        // Left by a process with our number that died in the middle.
        let _ = fs::remove_dir_all(&folder);
        let made = fs::create_dir_all(&folder).and_then(|()| folder.canonicalize());
        made.map(Self)
            .map_err(|error| format!("failed: there is no place for a picture: {error}"))
    }

    /// What the cell left there: whatever else ran in it, only a file of this folder.
    fn picture(&self) -> Result<Vec<u8>, String> {
        let told = |error: PlaceError| match error {
            PlaceError::Missing { .. } => "the browser made no picture".to_owned(),
            error => error.to_string(),
        };
        let place = Workplace::open(&self.0, Vec::new(), Surroundings::default()).map_err(told)?;
        let place = Arc::new(place);
        let inside = place.locate(PICTURE).map_err(told)?;
        let opened = place.open_file(&inside).map_err(told)?;
        let bytes = opened
            .read(FILE_BYTES, "take a smaller picture")
            .map_err(told)?;
        match picture::look(&bytes) {
            Some(Ok(_)) => Ok(bytes),
            Some(Err(problem)) => Err(format!("the picture is {problem}")),
            None => Err("what the browser left is no picture".to_owned()),
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
