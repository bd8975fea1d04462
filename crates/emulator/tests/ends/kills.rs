//! Whatever is killed, nothing stays.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cellwind_emulator::ends::EndError;

use crate::support::*;

/// A parent with two ends, marked in its environment; commands run in the ends, some of them daemons.
pub fn hold(mode: &str, mark: &str) -> Child {
    let (name, value) = mark.split_once('=').expect("a variable");
    Command::new(PROGRAM)
        .args(["hold", mode])
        .env(name, value)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a parent")
}

pub fn kill(process: i32, signal: i32) {
    // SAFETY: kill takes two numbers and touches no memory.
    unsafe { libc::kill(process, signal) };
}

/// Waits until the parent says that its ends are there.
pub fn await_ready(parent: &mut Child) {
    let mut line = [0; 6];
    parent.stdout.take().expect("a pipe").read_exact(&mut line).expect("two ends");
}

/// The processes of the marked parent are of it, its ends' guards and first processes, and the ends' commands.
#[test]
fn two_hundred_kills_of_the_parent_at_any_instant_leave_no_process() {
    if single().is_none() {
        return;
    }
    let devices = || here(&["ip", "-brief", "link"]);
    let before = devices();
    for round in 0..200u64 {
        let mark = format!("CELLWIND_TEST=parent-{}-{round}", std::process::id());
        let mut parent = hold("inside", &mark);
        // From before its first step until after its last, spread by the golden ratio.
        let share = (round as f64 * 0.618_033_988_749_895).fract();
        std::thread::sleep(Duration::from_secs_f64(share * 0.1));
        parent.kill().expect("a child");
        parent.wait().expect("a child");
        await_that(&mark, || processes_with(&mark).is_empty());
    }
    assert_eq!(devices(), before);
}

/// A process that the parent has forked holds copies of all it had open.
#[test]
fn an_end_does_not_outlive_its_parent_in_a_forked_process() {
    if single().is_none() {
        return;
    }
    let mark = format!("CELLWIND_TEST=forked-{}", std::process::id());
    let mut parent = hold("forked", &mark);
    await_ready(&mut parent);
    parent.kill().expect("a child");
    parent.wait().expect("a child");
    await_that("the forked process is left alone", || processes_with(&mark).len() == 1);
    processes_with(&mark).into_iter().for_each(|process| kill(process, libc::SIGKILL));
}

/// One of its processes at a time, in the order of their numbers: guard and first process of each end.
#[test]
fn killing_a_process_of_an_end_is_told_and_ends_that_end() {
    if single().is_none() {
        return;
    }
    for victim in ["guard", "first"] {
        let end = single().expect("worked before");
        let first = end.pid() as i32;
        let stat = std::fs::read_to_string(format!("/proc/{first}/stat")).expect("a process");
        let guard: i32 = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok())
            .expect("its parent");
        let sleeping = start(&end, &["sleep", "1000"]);
        kill(if victim == "guard" { guard } else { first }, libc::SIGKILL);
        await_that("the end is gone", || matches!(end.poll_exits(), Err(EndError::Gone { .. })));
        await_that("so are its processes", || [first, guard].iter().all(|id| !is_running(*id)));
        let error = start_as(&end, &["true"], None).err().expect("no end").to_string();
        assert!(error.starts_with("the process that holds the end is gone: "), "{error}");
        drop(sleeping);
        // The rest is as good as new.
        assert_eq!(run(&single().expect("worked before"), &["echo", "well"]), "well\n");
    }
}

fn is_running(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}
