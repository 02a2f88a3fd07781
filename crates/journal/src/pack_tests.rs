use std::{os::unix::process::ExitStatusExt, process::Command, time::Duration};

use butler_protocol::{FAULT_VARIABLE, FaultPoint, on_fault};

use super::*;

struct Scene {
    folder: tempfile::TempDir,
    thread: ThreadId,
}

impl Scene {
    /// A thread with a log, a plan and an attached file.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let thread = ThreadId::from_dir_name("C1-1700000000-000100").unwrap();
        let scene = Self { folder, thread };
        for (name, text) in FILES {
            let path = scene.dir().root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        scene
    }

    fn threads(&self) -> &Path {
        self.folder.path()
    }

    fn dir(&self) -> ThreadDir {
        ThreadDir::new(self.threads(), &self.thread)
    }

    fn archive(&self) -> PathBuf {
        ThreadDir::archive(self.threads(), &self.thread)
    }

    fn pack(&self) -> bool {
        let later = SystemTime::now() + Duration::from_secs(60);
        ThreadDir::pack(self.threads(), &self.thread, later).unwrap()
    }

    fn enter(&self) -> Presence {
        ThreadDir::enter(self.threads(), &self.thread).unwrap()
    }

    #[track_caller]
    fn assert_whole(&self) {
        for (name, text) in FILES {
            let path = self.dir().root().join(name);
            assert_eq!(fs::read_to_string(path).unwrap(), text, "{name}");
        }
        assert!(!self.archive().exists());
    }

    /// Names beside the locks.
    fn names(&self) -> Vec<String> {
        let items = fs::read_dir(self.threads()).unwrap().flatten();
        let names = items.map(|item| item.file_name().into_string().unwrap());
        names.filter(|name| name != LOCKS).collect()
    }
}

const FILES: [(&str, &str); 3] = [
    ("conversations/pm.jsonl", "{}\n"),
    ("plan.md", "# Plan\n"),
    ("files/ñ file.txt", "attached"),
];

#[test]
fn a_packed_thread_is_one_file_and_comes_back_whole() {
    let scene = Scene::new();
    assert!(scene.pack());
    assert_eq!(scene.names().len(), 1, "{:?}", scene.names());
    assert!(scene.archive().exists());
    assert_eq!(ThreadDir::list(scene.threads()).unwrap(), []);
    let locks = fs::read_dir(scene.threads().join(LOCKS)).unwrap();
    assert_eq!(locks.count(), 0);
    assert_eq!(
        ThreadDir::packed(scene.threads()),
        std::slice::from_ref(&scene.thread)
    );
    assert!(!scene.pack(), "there is nothing to pack");
    assert!(scene.archive().exists());
    let _present = scene.enter();
    scene.assert_whole();
}

#[test]
fn a_thread_in_which_somebody_works_is_not_packed() {
    let scene = Scene::new();
    let (one, two) = (scene.enter(), scene.enter());
    assert!(!scene.pack());
    drop(one);
    assert!(!scene.pack());
    drop(two);
    scene.assert_whole();
    assert!(scene.pack());
}

#[test]
fn what_was_written_lately_is_not_packed_and_what_came_back_is_new() {
    let scene = Scene::new();
    let earlier = SystemTime::now() - Duration::from_secs(60);
    assert!(!ThreadDir::pack(scene.threads(), &scene.thread, earlier).unwrap());
    let old = SystemTime::now() - Duration::from_secs(3600);
    let times = fs::FileTimes::new().set_modified(old);
    for path in [
        scene.dir().root().join("conversations/pm.jsonl"),
        scene.dir().root().join("files/ñ file.txt"),
        scene.dir().root().join("plan.md"),
        scene.dir().root().join("conversations"),
        scene.dir().root().join("files"),
        scene.dir().root().to_owned(),
    ] {
        let file = File::open(path).unwrap();
        file.set_times(times).unwrap();
    }
    assert!(ThreadDir::pack(scene.threads(), &scene.thread, earlier).unwrap());
    drop(scene.enter());
    assert!(!ThreadDir::pack(scene.threads(), &scene.thread, earlier).unwrap());
    scene.assert_whole();
}

/// Packs and unpacks in a process of its own, which kills itself at the point.
fn die_at(point: &str, scene: &Scene) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "pack::tests::pack_and_unpack_as_child",
            "--ignored",
        ])
        .env(FAULT_VARIABLE, point)
        .env("JOURNAL_TEST_THREADS", scene.threads())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(9), "{point}");
}

/// Not a test by itself: the process that dies above.
#[test]
#[ignore = "run by killed_at_any_point_it_loses_nothing"]
fn pack_and_unpack_as_child() {
    let Some(threads) = std::env::var_os("JOURNAL_TEST_THREADS") else {
        return;
    };
    on_fault(|name| {
        let armed = std::env::var(FAULT_VARIABLE).ok();
        let armed = armed.as_deref().and_then(FaultPoint::parse);
        if armed.is_some_and(|point| point.name == name) {
            let me = std::process::id().to_string();
            Command::new("kill").args(["-9", &me]).status().unwrap();
        }
    });
    let threads = Path::new(&threads);
    let [thread] = &ThreadDir::list(threads).unwrap()[..] else {
        panic!("one thread");
    };
    let later = SystemTime::now() + Duration::from_secs(60);
    assert!(ThreadDir::pack(threads, thread, later).unwrap());
    ThreadDir::enter(threads, thread).unwrap();
}

#[test]
fn killed_at_any_point_it_loses_nothing() {
    for step in ["archive", "put-away", "unpack"] {
        for when in ["before", "after"] {
            let point = format!("journal.{when}-{step}");
            let scene = Scene::new();
            die_at(&point, &scene);
            drop(scene.enter());
            scene.assert_whole();
            ThreadDir::tidy(scene.threads());
            assert_eq!(scene.names(), [scene.thread.dir_name()], "{point}");
            assert!(scene.pack(), "{point}");
        }
    }
}

#[test]
fn what_was_half_removed_or_half_unpacked_is_not_used() {
    // While the folder was removed.
    let scene = Scene::new();
    write_archive(scene.threads(), &scene.thread, scene.dir().root()).unwrap();
    let passing = scene.threads().join(format!("{PASSING}x"));
    fs::rename(scene.dir().root(), &passing).unwrap();
    fs::remove_file(passing.join("plan.md")).unwrap();
    drop(scene.enter());
    scene.assert_whole();
    ThreadDir::tidy(scene.threads());
    assert_eq!(scene.names(), [scene.thread.dir_name()]);
    // While it was unpacked.
    let scene = Scene::new();
    assert!(scene.pack());
    let passing = scene.threads().join(format!("{PASSING}y"));
    fs::create_dir_all(passing.join(scene.thread.dir_name())).unwrap();
    drop(scene.enter());
    scene.assert_whole();
}

#[test]
fn a_damaged_archive_is_left_alone_and_named() {
    let scene = Scene::new();
    assert!(scene.pack());
    let bytes = fs::read(scene.archive()).unwrap();
    fs::write(scene.archive(), &bytes[..bytes.len() / 2]).unwrap();
    let error = ThreadDir::enter(scene.threads(), &scene.thread).unwrap_err();
    assert!(error.to_string().contains("tar.gz"), "{error}");
    assert!(scene.archive().exists());
    assert!(!scene.dir().root().exists());
}

#[test]
fn who_comes_while_it_is_packed_or_unpacked_finds_it_whole() {
    let scene = Scene::new();
    for _ in 0..30 {
        std::thread::scope(|scope| {
            scope.spawn(|| scene.pack());
            for _ in 0..3 {
                scope.spawn(|| {
                    let present = scene.enter();
                    let log = scene.dir().root().join("conversations/pm.jsonl");
                    assert_eq!(fs::read_to_string(log).unwrap(), "{}\n");
                    drop(present);
                });
            }
        });
    }
    drop(scene.enter());
    scene.assert_whole();
}
