/* The peer of the live benchmarks: the least a user-space emulator can do with packets.
 *
 * Two TUN devices, made in the namespaces given by file, and a loop that writes to one what it reads from the other.
 * Usage: tunloop NAMESPACE_FILE_A NAMESPACE_FILE_B; the devices are called t0. Ends when standard input ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BATCH 64

static int device_in(const char *namespace) {
    int ns = open(namespace, O_RDONLY);
    if (ns < 0 || setns(ns, CLONE_NEWNET)) perror(namespace), exit(1);
    close(ns);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(request.ifr_name, "t0");
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request)) perror("TUN"), exit(1);
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int fds[2] = {device_in(argv[1]), device_in(argv[2])};
    int poll_fd = epoll_create1(0);
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (unsigned)i};
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, fds[i], &event);
    }
    struct epoll_event end = {.events = EPOLLIN | EPOLLHUP, .data.u32 = 2};
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, 0, &end);
    printf("ready\n");
    fflush(stdout);
    static char data[65536];
    for (;;) {
        struct epoll_event events[3];
        int n = epoll_wait(poll_fd, events, 3, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u32 == 2) return 0;
            int from = fds[events[i].data.u32], to = fds[1 - events[i].data.u32];
            for (int k = 0; k < BATCH; k++) {
                ssize_t size = read(from, data, sizeof data);
                if (size <= 0) break;
                if (write(to, data, (size_t)size) < 0 && errno != EAGAIN && errno != ENOBUFS) break;
            }
        }
    }
}
