//! The outside as the server's end: address translation on the host, and its removal.
//!
//! The host's rules carry a comment that names the owner, the process with the emulation, and what else was changed. So
//! they can be removed by anybody at any time, from the comments alone: by the end's two processes when the parent is
//! gone, each when the other is, and by [`clean_leftovers`] when all three were killed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{fmt, fs};

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

use super::command::{find_tool, run_tool};
use super::error::EndError;
use super::network::{find_ip, read_sysctl, write_sysctl};
use super::settings::{NETWORK_V4, NETWORK_V6};

/// What comments of our rules begin with.
const MARK: &str = "cellwind owner=";
/// What comes before the interface in the comment of a rule that guards one.
const GUARDED: &str = "guards";
/// The table of `nft` that is ours: its family and name.
const NFT_TABLE: &str = "inet cellwind";
const NFT_LIST: [&str; 4] = ["list", "table", "inet", "cellwind"];
const NFT_DELETE: [&str; 4] = ["delete", "table", "inet", "cellwind"];
/// Changes the rules named and no others; waits for a lock that another holds.
const IPTABLES_RESTORE: [&str; 3] = ["--noflush", "-w", "5"];
/// How often removing is tried again while another process removes the same.
const MOST_ATTEMPTS: u32 = 3;

/// A process, told apart from later ones of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pid: u32,
    /// When it started, clock ticks since boot.
    start: u64,
}

impl Owner {
    /// This process.
    pub fn this_process() -> Owner {
        let pid = std::process::id();
        Owner { pid, start: start_of(pid).unwrap_or(0) }
    }

    fn is_alive(self) -> bool {
        start_of(self.pid) == Some(self.start)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "process {}", self.pid)
    }
}

/// Field 22 of `/proc/PID/stat`; `None` when there is no such process.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, field 2, may hold spaces and parentheses; field 3 is the first after it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

/// What a comment of ours says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    owner: Owner,
    /// The interface that this rule guards, because its packets were not forwarded before.
    guarded: Option<String>,
}

impl Mark {
    fn text(&self) -> String {
        let Owner { pid, start } = self.owner;
        let guarded = self.guarded.as_ref().map(|interface| format!(" {GUARDED}={interface}")).unwrap_or_default();
        format!("{MARK}{pid}:{start}{guarded}")
    }

    /// Finds a mark anywhere in a line.
    fn find(line: &str) -> Option<Mark> {
        let mut words = line.split_once(MARK)?.1.split('"').next()?.split(' ');
        let (pid, start) = words.next()?.split_once(':')?;
        let owner = Owner { pid: pid.parse().ok()?, start: start.parse().ok()? };
        let guarded = words.next().and_then(|word| Some(word.strip_prefix(GUARDED)?.strip_prefix('=')?.to_owned()));
        Some(Mark { owner, guarded })
    }
}

/// Whether the host forwards IPv6. It is left as it is: to switch it on would make the host ignore its own routers.
pub(super) fn forwards_v6() -> bool {
    read_sysctl("net/ipv6/conf/all/forwarding").is_ok_and(|value| value == "1")
}

/// Lets packets from the ends out through the host, as the host's own.
pub(super) fn translate(
    owner: Owner,
    device: &str,
    v6_beyond: bool,
    complaints: &mut Vec<String>,
) -> Result<(), EndError> {
    if !v6_beyond {
        complaints.push("IPv6 ends at this host, which does not forward it (net.ipv6.conf.all.forwarding)".into());
    }
    let guarded: Vec<String> = uplinks()?
        .into_iter()
        .filter(|name| read_sysctl(&forwarding_of(name)).is_ok_and(|value| value == "0"))
        .collect();
    // The guards stand before anything more is forwarded.
    for firewall in Firewall::of_host()? {
        firewall.add(owner, device, &guarded, v6_beyond)?;
    }
    for interface in guarded.iter().map(String::as_str).chain([device]) {
        write_sysctl(&forwarding_of(interface), "1").map_err(|error| EndError::Setting {
            name: forwarding_of(interface),
            value: "1".into(),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

/// Removes what [`translate`] did for this owner.
pub(super) fn undo(owner: Owner) {
    // Nobody is left to hear of a failure; `clean_leftovers` will meet it again.
    let _ = remove(|found| found == owner);
}

/// Removes what emulations that were killed have left on this host, and says what that was.
///
/// Nothing of a running emulation is touched. This needs root.
pub fn clean_leftovers() -> Result<Vec<String>, EndError> {
    if !geteuid().is_root() {
        return Err(EndError::NotRoot { what: "looking for leftover rules".into() });
    }
    remove(|owner| !owner.is_alive())
}

/// The interfaces of the host's default routes.
fn uplinks() -> Result<Vec<String>, EndError> {
    #[derive(Deserialize)]
    struct Route {
        dev: Option<String>,
    }
    let text = run_tool(&find_ip()?, &["-j", "-4", "route", "show", "default"], "")?;
    let routes: Vec<Route> = serde_json::from_str(&text).unwrap_or_default();
    let names: BTreeSet<String> = routes.into_iter().filter_map(|route| route.dev).collect();
    Ok(names.into_iter().collect())
}

fn forwarding_of(interface: &str) -> String {
    format!("net/ipv4/conf/{interface}/forwarding")
}

/// Removes the rules of the owners that match, and stops the forwarding they guarded.
fn remove(matches: impl Fn(Owner) -> bool) -> Result<Vec<String>, EndError> {
    let mut removed = Vec::new();
    for firewall in Firewall::installed() {
        // The end's other process may be removing the same rules: look again until there are none.
        for attempt in 1..=MOST_ATTEMPTS {
            let marks: Vec<Mark> = firewall.marks()?.into_iter().filter(|mark| matches(mark.owner)).collect();
            if marks.is_empty() {
                break;
            }
            for interface in marks.iter().filter_map(|mark| mark.guarded.as_ref()) {
                // The interface may be gone, and its setting with it.
                if write_sysctl(&forwarding_of(interface), "0").is_ok() {
                    removed.push(format!("forwarding of packets from {interface}, on for {}", marks[0].owner));
                }
            }
            match firewall.remove(&matches) {
                Ok(rules) => removed.extend(rules),
                Err(error) if attempt == MOST_ATTEMPTS => return Err(error),
                Err(_) => (),
            }
        }
    }
    removed.dedup();
    Ok(removed)
}

/// A program that keeps the host's rules.
enum Firewall {
    /// `nft`, with a table of our own.
    Nft(PathBuf),
    /// `iptables` or `ip6tables`, with rules among the others: the programs that save and restore them, and whether
    /// for IPv6.
    Iptables { save: PathBuf, restore: PathBuf, is_v6: bool },
}

impl Firewall {
    /// All that are installed.
    fn installed() -> Vec<Firewall> {
        let iptables = |name: &str, is_v6| {
            let save = find_tool(&format!("{name}-save"))?;
            Some(Firewall::Iptables { save, restore: find_tool(&format!("{name}-restore"))?, is_v6 })
        };
        let all = [find_tool("nft").map(Firewall::Nft), iptables("iptables", false), iptables("ip6tables", true)];
        all.into_iter().flatten().collect()
    }

    /// The ones to use: `iptables` where the host has rules of it, since only from among them packets can pass them.
    fn of_host() -> Result<Vec<Firewall>, EndError> {
        let (nft, iptables): (Vec<_>, Vec<_>) =
            Firewall::installed().into_iter().partition(|firewall| matches!(firewall, Firewall::Nft(_)));
        let in_use = iptables.iter().any(|firewall| firewall.saved().is_ok_and(|text| has_rules(&text)));
        let chosen = if nft.is_empty() || (in_use && !iptables.is_empty()) { iptables } else { nft };
        if chosen.is_empty() {
            return Err(EndError::NoProgram { names: "neither nft nor iptables".into(), package: "nftables".into() });
        }
        Ok(chosen)
    }

    /// Adds the rules, all of a kind at once.
    fn add(&self, owner: Owner, device: &str, guarded: &[String], v6_beyond: bool) -> Result<(), EndError> {
        let mark = Mark { owner, guarded: None }.text();
        let guards = guarded.iter().map(|name| (name, Mark { owner, guarded: Some(name.clone()) }.text()));
        let (v4, v6) = (prefix(NETWORK_V4.0, NETWORK_V4.1), prefix(NETWORK_V6.0, NETWORK_V6.1));
        let mut text = String::new();
        match self {
            Firewall::Nft(program) => {
                let mut add = |line: &str| text.push_str(&format!("add {line}\n"));
                add(&format!("table {NFT_TABLE}"));
                add(&format!("chain {NFT_TABLE} outward {{ type nat hook postrouting priority 100; }}"));
                add(&format!("chain {NFT_TABLE} guard {{ type filter hook forward priority -10; }}"));
                let not_back = format!("oifname != \"{device}\" masquerade comment \"{mark}\"");
                add(&format!("rule {NFT_TABLE} outward ip saddr {v4} {not_back}"));
                if v6_beyond {
                    add(&format!("rule {NFT_TABLE} outward ip6 saddr {v6} {not_back}"));
                }
                // Nobody begins to talk to the ends from beyond the host.
                let known = "ct state != { established, related }";
                let inward = format!("iifname != \"{device}\" oifname \"{device}\"");
                add(&format!("rule {NFT_TABLE} guard {inward} {known} drop comment \"{mark}\""));
                for (name, mark) in guards {
                    let rule = format!("iifname \"{name}\" oifname != \"{device}\" drop comment \"{mark}\"");
                    add(&format!("rule {NFT_TABLE} guard meta nfproto ipv4 {rule}"));
                }
                run_tool(program, &["-f", "-"], &text)?;
            }
            Firewall::Iptables { restore, is_v6, .. } => {
                let comment = |mark: &str| format!("-m comment --comment \"{mark}\"");
                let ours = comment(&mark);
                text.push_str("*filter\n");
                // Each goes before the last, so the guards come to stand behind what is let through.
                for (name, mark) in guards.filter(|_| !is_v6) {
                    text.push_str(&format!("-I FORWARD -i {name} ! -o {device} {} -j DROP\n", comment(&mark)));
                }
                if !is_v6 || v6_beyond {
                    text.push_str(&format!("-I FORWARD -i {device} {ours} -j ACCEPT\n"));
                    // Nobody begins to talk to the ends from beyond the host.
                    text.push_str(&format!("-I FORWARD ! -i {device} -o {device} {ours} -j DROP\n"));
                    let known = "-m conntrack --ctstate RELATED,ESTABLISHED";
                    text.push_str(&format!("-I FORWARD -o {device} {known} {ours} -j ACCEPT\n"));
                }
                // The server end is the host.
                text.push_str(&format!("-I INPUT -i {device} {ours} -j ACCEPT\nCOMMIT\n"));
                if !is_v6 || v6_beyond {
                    let source = if *is_v6 { v6 } else { v4 };
                    let rule = format!("-s {source} ! -o {device} {ours} -j MASQUERADE");
                    text.push_str(&format!("*nat\n-A POSTROUTING {rule}\nCOMMIT\n"));
                }
                run_tool(restore, &IPTABLES_RESTORE, &text)?;
            }
        }
        Ok(())
    }

    /// All rules of this kind, as text with one per line.
    fn saved(&self) -> Result<String, EndError> {
        match self {
            Firewall::Nft(program) => {
                let tables = run_tool(program, &["list", "tables"], "")?;
                let exists = tables.lines().any(|line| line.trim() == format!("table {NFT_TABLE}"));
                if exists { run_tool(program, &NFT_LIST, "") } else { Ok(String::new()) }
            }
            Firewall::Iptables { save, .. } => run_tool(save, &[], ""),
        }
    }

    /// The marks of our rules.
    fn marks(&self) -> Result<Vec<Mark>, EndError> {
        Ok(self.saved()?.lines().filter_map(Mark::find).collect())
    }

    /// Removes the rules whose owners match, and gives them in words.
    fn remove(&self, matches: impl Fn(Owner) -> bool) -> Result<Vec<String>, EndError> {
        let saved = self.saved()?;
        let is_ours = |line: &str| Mark::find(line).is_some_and(|mark| matches(mark.owner));
        match self {
            Firewall::Nft(program) => {
                // The addresses of the ends are there once, so that one owner has the table.
                run_tool(program, &NFT_DELETE, "")?;
                Ok(vec![format!("nft table {NFT_TABLE}")])
            }
            Firewall::Iptables { restore, .. } => {
                let (mut text, mut removed) = (String::new(), Vec::new());
                for line in saved.lines() {
                    match line.strip_prefix("-A ") {
                        Some(rule) if is_ours(line) => {
                            text.push_str(&format!("-D {rule}\n"));
                            removed.push(format!("iptables rule {rule}"));
                        }
                        Some(_) => (),
                        None if line.starts_with('*') || line == "COMMIT" => text.push_str(&format!("{line}\n")),
                        None => (),
                    }
                }
                run_tool(restore, &IPTABLES_RESTORE, &text)?;
                Ok(removed)
            }
        }
    }
}

fn prefix(network: impl std::fmt::Display, length: u8) -> String {
    format!("{network}/{length}")
}

/// Whether a text of `iptables-save` says more than that everything may pass.
fn has_rules(saved: &str) -> bool {
    saved.lines().any(|line| line.starts_with("-A ") || (line.starts_with(':') && line.contains(" DROP ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_the_words_of_either_program() {
        let owner = Owner { pid: 12, start: 345 };
        let guard = Mark { owner, guarded: Some("eth0".into()) };
        let plain = Mark { owner, guarded: None };
        let saved = format!("-A FORWARD -i eth0 -m comment --comment \"{}\" -j DROP", guard.text());
        assert_eq!(Mark::find(&saved), Some(guard));
        let listed = format!("\t\tip saddr 100.64.0.0/15 masquerade comment \"{}\"", plain.text());
        assert_eq!(Mark::find(&listed), Some(plain));
        assert_eq!(Mark::find("-A FORWARD -m comment --comment \"cellwind owner=x\""), None);
    }

    #[test]
    fn an_owner_is_alive_as_long_as_the_same_process_is() {
        let me = Owner::this_process();
        assert!(me.is_alive());
        assert!(!Owner { start: me.start + 1, ..me }.is_alive());
    }

    #[test]
    fn a_policy_that_drops_counts_as_rules() {
        assert!(!has_rules("*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n"));
        assert!(has_rules("*filter\n:FORWARD DROP [0:0]\nCOMMIT\n"));
        assert!(has_rules("*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j DROP\nCOMMIT\n"));
    }
}
