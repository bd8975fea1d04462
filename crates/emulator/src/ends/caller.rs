//! Whose commands run at an end, and with which rights.

use std::ffi::CString;
use std::io;

use nix::unistd::{Gid, Uid, User as Account, getegid, geteuid, getgrouplist, getgroups, setgid, setgroups, setuid};
use serde::{Deserialize, Serialize};

/// A user to run commands as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Ids of all groups.
    pub groups: Vec<u32>,
}

impl User {
    /// The user who called: through `sudo` the one before, else this process's own; `None` for root itself.
    pub fn calling() -> Option<User> {
        if !geteuid().is_root() {
            let groups = getgroups().unwrap_or_default().into_iter().map(Gid::as_raw).collect();
            return Some(User { uid: geteuid().as_raw(), gid: getegid().as_raw(), groups });
        }
        let id = |name| std::env::var(name).ok()?.parse::<u32>().ok();
        let (uid, gid) = (id("SUDO_UID").filter(|&uid| uid != 0)?, id("SUDO_GID")?);
        let account = Account::from_uid(Uid::from_raw(uid)).ok().flatten();
        let groups = account
            .and_then(|account| CString::new(account.name).ok())
            .and_then(|name| getgrouplist(&name, Gid::from_raw(gid)).ok())
            .map_or_else(|| vec![gid], |groups| groups.into_iter().map(Gid::as_raw).collect());
        Some(User { uid, gid, groups })
    }

    /// Turns this process into one of the user's, without any way back once it runs a program.
    pub(super) fn become_it(&self) -> io::Result<()> {
        clear_ambient()?;
        if geteuid().is_root() && self.uid != 0 {
            let groups: Vec<Gid> = self.groups.iter().copied().map(Gid::from_raw).collect();
            setgroups(&groups)?;
            setgid(Gid::from_raw(self.gid))?;
            setuid(Uid::from_raw(self.uid))?;
        }
        // Otherwise the ids are the user's own already, and a program that starts without ambient rights has none.
        Ok(())
    }
}

/// The header of the kernel's `capset`, version 3.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// Half of the capability sets: 32 bits of each.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Lets the programs this process runs keep its capabilities, although its user is not root.
pub(super) fn raise_ambient() -> io::Result<()> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    let mut data = [CapabilityData::default(); 2];
    // SAFETY: header and the two data records are laid out as capget(2) wants them and outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capget, &header, data.as_mut_ptr()) })?;
    for half in &mut data {
        half.inheritable = half.permitted;
    }
    // SAFETY: as above; capset only reads them.
    check(unsafe { libc::syscall(libc::SYS_capset, &header, data.as_ptr()) })?;
    for number in 0..64 {
        if data[number / 32].permitted & (1 << (number % 32)) != 0 {
            // SAFETY: prctl with plain numbers touches no memory.
            check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, number, 0, 0) }.into())?;
        }
    }
    Ok(())
}

fn clear_ambient() -> io::Result<()> {
    // SAFETY: prctl with plain numbers touches no memory.
    check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) }.into())
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
