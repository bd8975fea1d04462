/* Sends and receives stamped packets: the measuring ends of the live benchmarks.
 *
 * Both ends run on one machine, so CLOCK_REALTIME is the same on both sides; arrivals carry the kernel's stamp.
 * Every mode prints plain numbers, one record per line, for bench.py to judge.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define LARGEST 65536
#define BATCH 64

struct stamp {
    uint64_t number;
    uint64_t sent_ns;
};

static uint64_t now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int open_socket(int type) {
    int s = socket(AF_INET, type, 0);
    if (s < 0) die("socket");
    int size = 64 << 20, yes = 1;
    setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
    setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return s;
}

static struct sockaddr_in address(const char *host, const char *port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, host, &a.sin_addr) != 1) die("address");
    return a;
}

static int to(const char *host, const char *port) {
    int s = open_socket(SOCK_DGRAM);
    struct sockaddr_in a = address(host, port);
    if (connect(s, (struct sockaddr *)&a, sizeof a)) die("connect");
    return s;
}

static int at(const char *port, int type) {
    int s = open_socket(type);
    struct sockaddr_in a = address("0.0.0.0", port);
    if (bind(s, (struct sockaddr *)&a, sizeof a)) die("bind");
    return s;
}

static void time_out(int s, double seconds) {
    struct timeval t = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)((seconds - (time_t)seconds) * 1e6)};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
}

/* send HOST PORT BYTES COUNT PER_SECOND: one packet at each instant of a grid. */
static void send_paced(char **argv) {
    int s = to(argv[0], argv[1]);
    size_t size = (size_t)atol(argv[2]);
    uint64_t count = (uint64_t)atoll(argv[3]);
    double gap_ns = 1e9 / atof(argv[4]);
    char buffer[LARGEST] = {0};
    prctl(PR_SET_TIMERSLACK, 1);
    uint64_t start = now_ns(CLOCK_MONOTONIC) + 1000000;
    for (uint64_t n = 0; n < count; n++) {
        uint64_t due = start + (uint64_t)(gap_ns * (double)n);
        if (due > now_ns(CLOCK_MONOTONIC) + 100000) {
            uint64_t wake = due - 80000;
            struct timespec t = {(time_t)(wake / 1000000000u), (long)(wake % 1000000000u)};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        }
        while (now_ns(CLOCK_MONOTONIC) < due) {
        }
        struct stamp stamp = {n, now_ns(CLOCK_REALTIME)};
        memcpy(buffer, &stamp, sizeof stamp);
        if (send(s, buffer, size, 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED) die("send");
    }
}

/* receive PORT COUNT QUIET_S: "number sent_ns arrived_ns" per packet, until COUNT came or none for QUIET_S. */
static void receive(char **argv) {
    int s = at(argv[0], SOCK_DGRAM);
    uint64_t count = (uint64_t)atoll(argv[1]);
    int yes = 1;
    setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
    time_out(s, 10);
    printf("ready\n");
    fflush(stdout);
    struct stamp *stamps = calloc(count, sizeof *stamps);
    uint64_t *arrived = calloc(count, sizeof *arrived);
    uint64_t n = 0;
    for (; n < count; n++) {
        char data[LARGEST], control[256];
        struct iovec piece = {data, sizeof data};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        if (recvmsg(s, &message, 0) < (ssize_t)sizeof(struct stamp)) break;
        if (n == 0) time_out(s, atof(argv[2]));
        memcpy(&stamps[n], data, sizeof stamps[n]);
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
                struct timespec t;
                memcpy(&t, CMSG_DATA(c), sizeof t);
                arrived[n] = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
            }
    }
    for (uint64_t i = 0; i < n; i++)
        printf("%llu %llu %llu\n", (unsigned long long)stamps[i].number, (unsigned long long)stamps[i].sent_ns,
               (unsigned long long)arrived[i]);
}

/* flood HOST PORT BYTES SECONDS: as many packets as the machine sends. */
static void flood(char **argv) {
    int s = to(argv[0], argv[1]);
    static char data[LARGEST];
    struct iovec piece = {data, (size_t)atol(argv[2])};
    struct mmsghdr messages[BATCH];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < BATCH; i++) messages[i].msg_hdr.msg_iov = &piece, messages[i].msg_hdr.msg_iovlen = 1;
    uint64_t sent = 0, end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[3]) * 1e9);
    while (now_ns(CLOCK_MONOTONIC) < end) {
        int n = sendmmsg(s, messages, BATCH, 0);
        if (n > 0) sent += (uint64_t)n;
    }
    printf("%llu\n", (unsigned long long)sent);
}

/* count PORT SECONDS: packets per second over SECONDS from the first one on. */
static void count(char **argv) {
    int s = at(argv[0], SOCK_DGRAM);
    static char data[BATCH][2048];
    struct iovec pieces[BATCH];
    struct mmsghdr messages[BATCH];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < BATCH; i++) {
        pieces[i] = (struct iovec){data[i], sizeof data[i]};
        messages[i].msg_hdr.msg_iov = &pieces[i], messages[i].msg_hdr.msg_iovlen = 1;
    }
    time_out(s, 10);
    printf("ready\n");
    fflush(stdout);
    if (recv(s, data[0], sizeof data[0], 0) < 0) die("nothing came");
    time_out(s, 0.2);
    uint64_t start = now_ns(CLOCK_MONOTONIC), span = (uint64_t)(atof(argv[1]) * 1e9), received = 0, now;
    while ((now = now_ns(CLOCK_MONOTONIC)) < start + span) {
        int n = recvmmsg(s, messages, BATCH, MSG_WAITFORONE, NULL);
        if (n > 0) received += (uint64_t)n;
    }
    printf("%.1f\n", (double)received * 1e9 / (double)(now - start));
}

/* tcp-send HOST PORT SECONDS: with CUBIC, as BBR would pace what is to be measured. */
static void tcp_send(char **argv) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
    struct sockaddr_in a = address(argv[0], argv[1]);
    if (connect(s, (struct sockaddr *)&a, sizeof a)) die("connect");
    static char data[1 << 18];
    uint64_t end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * 1e9);
    while (now_ns(CLOCK_MONOTONIC) < end)
        if (send(s, data, sizeof data, MSG_NOSIGNAL) < 0) break;
    close(s);
}

/* tcp-receive PORT: bits per second of the one connection that is taken. */
static void tcp_receive(char **argv) {
    int yes = 1, s = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in a = address("0.0.0.0", argv[0]);
    if (bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 1)) die("listen");
    printf("ready\n");
    fflush(stdout);
    int c = accept(s, NULL, NULL);
    static char data[1 << 18];
    uint64_t start = now_ns(CLOCK_MONOTONIC), received = 0;
    ssize_t n;
    while ((n = recv(c, data, sizeof data, 0)) > 0) received += (uint64_t)n;
    printf("%.0f\n", 8e9 * (double)received / (double)(now_ns(CLOCK_MONOTONIC) - start));
}

/* echo PORT: sends every packet back. */
static void echo(char **argv) {
    int s = at(argv[0], SOCK_DGRAM);
    char data[LARGEST];
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        ssize_t n = recvfrom(s, data, sizeof data, 0, (struct sockaddr *)&from, &length);
        if (n >= 0) sendto(s, data, (size_t)n, 0, (struct sockaddr *)&from, length);
    }
}

/* ping HOST PORT COUNT: nanoseconds of each round trip, one at a time. */
static void ping(char **argv) {
    int s = to(argv[0], argv[1]);
    time_out(s, 1);
    char data[64] = {0};
    for (long i = atol(argv[2]); i > 0; i--) {
        uint64_t sent = now_ns(CLOCK_MONOTONIC);
        send(s, data, sizeof data, 0);
        if (recv(s, data, sizeof data, 0) > 0) printf("%llu\n", (unsigned long long)(now_ns(CLOCK_MONOTONIC) - sent));
        usleep(500);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int arguments;
        void (*run)(char **);
    } modes[] = {{"send", 5, send_paced}, {"receive", 3, receive},         {"flood", 4, flood}, {"count", 2, count},
                 {"tcp-send", 3, tcp_send}, {"tcp-receive", 1, tcp_receive}, {"echo", 1, echo},   {"ping", 3, ping}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (argc == modes[i].arguments + 2 && !strcmp(argv[1], modes[i].name)) {
            modes[i].run(argv + 2);
            return 0;
        }
    fprintf(stderr, "probe: unknown mode or wrong number of arguments\n");
    return 2;
}
