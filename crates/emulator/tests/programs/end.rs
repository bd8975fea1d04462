//! What the tests of the ends run: the process of an end, a parent to kill, and commands inside an end.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::time::Duration;

use cellwind_emulator::ends::{End, EndProgram, EndSettings, KernelTcp, Role, SpawnRequest, User, run_end};

/// How long a command waits for the other end before it fails.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["end", socket] => run_end(socket.parse().expect("the number of a socket")),
        ["hold", mode] => hold(mode),
        ["ping", address] => ping(address.parse().expect("an address")),
        ["serve", port, bytes] => serve(port, bytes.parse().expect("a number")),
        ["fetch", address] => fetch(address),
        ["udp-echo", port] => udp_echo(port),
        ["udp-ask", address] => udp_ask(address),
        ["ids"] => ids(),
        ["caller"] => print(&format!("{:?}\n", User::calling())),
        other => panic!("unknown words {other:?}"),
    }
}

/// Holds a server's and a terminal's end until it is killed.
fn hold(mode: &str) {
    let outside = mode == "outside";
    let program = EndProgram::new(std::env::current_exe().expect("this program"), ["end"]);
    let server = if outside { Role::Outside } else { Role::Server };
    let settings = [("server", server), ("ue", Role::Terminal(0))].map(|(name, role)| EndSettings {
        name: name.into(),
        role,
        names: vec![("server".into(), server), ("ue".into(), Role::Terminal(0))],
        outside,
        mtu: 1500,
        kernel: KernelTcp::default(),
    });
    let ends = End::open_all(&program, &settings).expect("two ends");
    let null = std::fs::File::open("/dev/null").expect("nothing");
    for end in &ends {
        // A command that stays, and one that leaves another behind.
        let request = SpawnRequest {
            argv: ["sh", "-c", "setsid sleep 3600 & exec sleep 3600"].map(OsString::from).into(),
            env: std::env::vars_os().collect(),
            cwd: "/".into(),
            stdio: [null.as_fd(); 3],
            user: None,
        };
        end.spawn(&request).expect("a command");
    }
    if mode == "forked" {
        // SAFETY: this process has one thread, and what follows is as good in the child as here.
        unsafe { libc::fork() };
    }
    let mut out = std::io::stdout();
    out.write_all(b"ready\n").and_then(|()| out.flush()).expect("a reader");
    std::thread::sleep(Duration::from_secs(3600));
}

/// Sends one echo request by a socket that needs no rights, and waits for the answer.
fn ping(address: IpAddr) {
    let (family, protocol, kind) = match address {
        IpAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_ICMP, 8),
        IpAddr::V6(_) => (libc::AF_INET6, libc::IPPROTO_ICMPV6, 128),
    };
    // SAFETY: socket takes three numbers and touches no memory.
    let fd = unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, protocol) };
    assert!(fd >= 0, "no socket for ping: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is new and nobody else's.
    let socket = UdpSocket::from(unsafe { OwnedFd::from_raw_fd(fd) });
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let request = [kind, 0, 0, 0, 0, 0, 0, 1, b'c', b'e', b'l', b'l'];
    socket.send_to(&request, SocketAddr::new(address, 0)).expect("a way");
    let mut answer = [0; 64];
    let (length, from) = socket.recv_from(&mut answer).expect("an answer");
    assert_eq!((from.ip(), &answer[length - 4..length]), (address, b"cell".as_slice()));
}

/// Sends so many bytes to whoever connects first.
fn serve(port: &str, bytes: usize) {
    let listener = TcpListener::bind(format!("[::]:{port}")).expect("a port");
    let (mut stream, _) = listener.accept().expect("a client");
    let chunk = [7; 65536];
    let mut left = bytes;
    while left > 0 {
        left -= stream.write(&chunk[..left.min(chunk.len())]).expect("a connection");
    }
}

/// Reads all that a server sends, and says how much.
fn fetch(address: &str) {
    // The server may have been started a moment ago.
    let mut stream = (0..500)
        .find_map(|_| {
            let stream = TcpStream::connect(address).ok();
            if stream.is_none() {
                std::thread::sleep(Duration::from_millis(10));
            }
            stream
        })
        .expect("a server");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let (mut total, mut buffer) = (0, vec![0; 65536]);
    loop {
        match stream.read(&mut buffer).expect("bytes") {
            0 => break,
            length => total += length,
        }
    }
    print(&format!("{total}\n"));
}

fn udp_echo(port: &str) {
    let socket = UdpSocket::bind(format!("[::]:{port}")).expect("a port");
    let mut buffer = [0; 2048];
    let (length, from) = socket.recv_from(&mut buffer).expect("a packet");
    socket.send_to(&buffer[..length], from).expect("a way back");
}

fn udp_ask(address: &str) {
    let target: SocketAddr = address.parse().expect("an address");
    let own = if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(own).expect("a port");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
    let mut buffer = [0; 2048];
    let answered = (0..500).any(|_| {
        // Refused as long as nobody listens.
        let _ = socket.send_to(b"cell", target);
        socket.recv_from(&mut buffer).is_ok_and(|(length, _)| &buffer[..length] == b"cell")
    });
    assert!(answered, "no answer from {target}");
}

/// Tells who it is, and which rights it has.
fn ids() {
    let status = std::fs::read_to_string("/proc/self/status").expect("the state of this process");
    for name in ["Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:", "SigIgn:", "SigBlk:"] {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        print(&format!("{}\n", line.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    let open: Vec<OsString> = (0..64)
        // SAFETY: fcntl with F_GETFD touches no memory.
        .filter(|&fd| unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0)
        .map(|fd| fd.to_string().into())
        .collect();
    print(&format!("Files: {}\n", open.join(&OsString::from(" ")).to_string_lossy()));
    // SAFETY: getsid and getpid touch no memory.
    let leads = unsafe { libc::getsid(0) == libc::getpid() };
    print(&format!("Session: {leads}, terminal: {}\n", std::fs::File::open("/dev/tty").is_ok()));
}

fn print(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).expect("a reader");
}
