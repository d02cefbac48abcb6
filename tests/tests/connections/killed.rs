//! A process that is killed while its call is under way: what may have happened is not repeated.

use super::scene::{SEND, Scene, expect_refused};
use collie_lab::{Fault, FaultRule};
use collie_tests::processes::Binaries;
use contract::Code;
use contract::problem::Exit;
use std::process::Stdio;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_call_is_uncertain_at_the_next_start() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    for fault in [Fault::HangAfter, Fault::HangBefore] {
        let key = format!("{fault:?}");
        let keyed = [SEND, &["--yes", "--idempotency-key", &key]].concat();
        scene.lab.fault(FaultRule::new(fault.clone()).on_tool("send_note").times(1)).expect("armed");
        let mut child = Command::new(Binaries::find().expect("built").program("collie"))
            .args(["online", "--state-dir"])
            .arg(laptop.root.path())
            .args(["--server", scene.world.base_url(), "--development-allow-loopback", "invoke", &id, "send_note"])
            .args(&keyed)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        scene.lab.wait_until(|seen| seen.hanging == 1).await;
        expect_refused(laptop.invoke(&id, "send_note", &keyed).await, Code::EffectRunning, Exit::Conflict);
        child.kill().await.expect("killed");
        scene.lab.control(collie_lab::Command::Release).expect("released");
        let (applied, calls) = (scene.lab.counts().applied("send_note"), scene.lab.counts().calls("send_note"));
        for _ in 0..2 {
            expect_refused(laptop.invoke(&id, "send_note", &keyed).await, Code::EffectUncertain, Exit::Uncertain);
        }
        assert_eq!(
            (scene.lab.counts().applied("send_note"), scene.lab.counts().calls("send_note")),
            (applied, calls),
            "{fault:?}"
        );
    }
    assert!(scene.lab.counts().applied("send_note") >= 1, "one of them did happen");
    assert_eq!(laptop.db().await.count_uncertain().await, Ok(2), "and `status` says so");
}
