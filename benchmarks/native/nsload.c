/*
 * nsload: a closed-loop load generator for a RocketMQ NameServer.
 *
 * Opens N TCP connections, keeps D requests outstanding on each, and sends GET_ROUTEINFO_BY_TOPIC
 * (code 105) for topics PREFIX0..PREFIX(T-1) in turn.  Every response is framed, its opaque and code
 * are checked, and its latency goes into a histogram.
 *
 * With --rate R the loop is open: R requests a second fall due at even intervals, whatever the server does, each
 * goes to the next connection that has room, and its latency counts from the moment it was due, so that a
 * stall of the server is seen by all requests that it delayed.  With --pid it also reads the server's CPU time
 * from /proc, so that cost per request can be compared even on a noisy machine.
 *
 *   cc -O2 -o nsload nsload.c
 *   ./nsload --port 9876 --conns 64 --seconds 5 --topics 100 --prefix Topic [--depth 1] [--pid 1234]
 *            [--version 401] [--serialize json|rocketmq] [--expect 0] [--rate 10000]
 *
 * Prints one line of JSON: requests, errors, seconds, rps, bytes, latency percentiles in microseconds,
 * and cpu_us_per_request of the server (user + system, all its threads) when --pid was given.
 * Exit status: 0 all answers were as expected; 1 some were not; 2 could not run.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH 64
#define BUF (1 << 20)

struct conn {
    int fd;
    uint32_t next_opaque, next_expected;
    uint64_t sent_at[MAX_DEPTH];
    unsigned char *in;
    size_t have, cap;
    unsigned char out[MAX_DEPTH * 512];
    size_t out_len, out_off;
};

static int n_conns = 64, depth = 1, seconds = 5, n_topics = 1, port = 9876, version = 401, expect_code = 0, binary = 0;
static double rate = 0;
static const char *prefix = "Topic", *host = "127.0.0.1";
static long pid = 0;
static uint64_t hist[64 * 64];
static uint64_t requests, errors, bytes_in, max_ns, unsent;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Log-linear histogram: 64 sub-buckets for each power of two of nanoseconds. */
static int bucket(uint64_t ns) {
    int e = 63 - __builtin_clzll(ns | 1);
    int sub = e >= 6 ? (int)((ns >> (e - 6)) & 63) : (int)(ns & 63);
    return e * 64 + sub;
}
static double bucket_us(int b) {
    int e = b / 64, sub = b % 64;
    double lo = e >= 6 ? (double)((1ull << e) + ((uint64_t)sub << (e - 6))) : (double)sub;
    return lo / 1000.0;
}
static double percentile(double p) {
    uint64_t want = (uint64_t)(p * requests), seen = 0;
    for (int b = 0; b < 64 * 64; b++)
        if ((seen += hist[b]) > want) return bucket_us(b);
    return max_ns / 1000.0;
}

static void die(const char *what) { fprintf(stderr, "nsload: %s: %s\n", what, strerror(errno)); exit(2); }

static void put32(unsigned char *p, uint32_t v) { p[0] = v >> 24; p[1] = v >> 16; p[2] = v >> 8; p[3] = v; }
static uint32_t get32(const unsigned char *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

static size_t build(unsigned char *p, uint32_t opaque) {
    char topic[128];
    int tl = snprintf(topic, sizeof topic, "%s%u", prefix, opaque % (uint32_t)n_topics);
    size_t h;
    if (!binary) {
        h = (size_t)sprintf((char *)p + 8,
            "{\"code\":105,\"extFields\":{\"topic\":\"%s\"},\"flag\":0,\"language\":\"JAVA\",\"opaque\":%u,"
            "\"serializeTypeCurrentRPC\":\"JSON\",\"version\":%d}", topic, opaque, version);
        put32(p + 4, (uint32_t)h);
    } else {
        unsigned char *q = p + 8;
        q[0] = 0; q[1] = 105; q[2] = 0; q[3] = version >> 8; q[4] = version;
        put32(q + 5, opaque); put32(q + 9, 0); put32(q + 13, 0);
        put32(q + 17, (uint32_t)(2 + 5 + 4 + tl));
        q[21] = 0; q[22] = 5; memcpy(q + 23, "topic", 5); put32(q + 28, (uint32_t)tl); memcpy(q + 32, topic, tl);
        h = 32 + (size_t)tl;
        put32(p + 4, (uint32_t)h | 1u << 24);
    }
    put32(p, (uint32_t)h + 4);
    return h + 8;
}

static void flush_out(struct conn *c) {
    while (c->out_off < c->out_len) {
        ssize_t w = send(c->fd, c->out + c->out_off, c->out_len - c->out_off, MSG_NOSIGNAL);
        if (w < 0) { if (errno == EAGAIN) return; die("send"); }
        c->out_off += (size_t)w;
    }
    c->out_off = c->out_len = 0;
}

static void submit(struct conn *c, uint64_t t) {
    c->sent_at[c->next_opaque % MAX_DEPTH] = t;
    c->out_len += build(c->out + c->out_len, c->next_opaque);
    c->next_opaque++;
}

/* Sends what is due by now, as far as connections have room; gives when the next one is due. */
static uint64_t submit_due(struct conn **cs, uint64_t due, uint64_t interval, uint64_t now) {
    static unsigned turn;
    while (due <= now) {
        int tried = 0;
        while (tried < n_conns && (int)(cs[turn % n_conns]->next_opaque - cs[turn % n_conns]->next_expected) >= depth) {
            turn++;
            tried++;
        }
        if (tried == n_conns) break; /* all are full: it stays due, and its latency grows */
        struct conn *c = cs[turn++ % n_conns];
        submit(c, due);
        flush_out(c);
        due += interval;
    }
    return due;
}

static void wake_at(int timer, uint64_t when) {
    struct itimerspec at = {.it_value = {.tv_sec = (time_t)(when / 1000000000ull), .tv_nsec = (long)(when % 1000000000ull)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static int find_num(const unsigned char *h, size_t n, const char *key, long *v) {
    const unsigned char *p = memmem(h, n, key, strlen(key));
    if (!p) return 0;
    *v = strtol((const char *)p + strlen(key), NULL, 10);
    return 1;
}

/* Handles every whole response in the buffer; returns how many there were. */
static int drain(struct conn *c, uint64_t t) {
    size_t off = 0;
    int done = 0;
    while (c->have - off >= 8) {
        uint32_t total = get32(c->in + off);
        if (total < 4 || total > 64u << 20) { fprintf(stderr, "nsload: bad frame length %u\n", total); exit(2); }
        if (c->have - off < 4 + (size_t)total) break;
        uint32_t word = get32(c->in + off + 4), hl = word & 0xFFFFFF;
        const unsigned char *h = c->in + off + 8;
        long code = -1, opaque = -1;
        if (word >> 24 == 0) {
            find_num(h, hl, "\"code\":", &code);
            find_num(h, hl, "\"opaque\":", &opaque);
        } else {
            code = h[0] << 8 | h[1];
            opaque = (long)get32(h + 5);
        }
        uint32_t want = c->next_expected;
        if (code != expect_code || (depth == 1 ? opaque != (long)want : 0)) errors++;
        uint64_t d = t - c->sent_at[(opaque >= 0 ? (uint32_t)opaque : want) % MAX_DEPTH];
        if (d > max_ns) max_ns = d;
        hist[bucket(d)]++;
        requests++;
        c->next_expected++;
        bytes_in += 4 + total;
        off += 4 + (size_t)total;
        done++;
    }
    memmove(c->in, c->in + off, c->have - off);
    c->have -= off;
    return done;
}

static double server_cpu_us(void) {
    char path[64], buf[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) die(path);
    size_t n = fread(buf, 1, sizeof buf - 1, f);
    fclose(f);
    buf[n] = 0;
    char *p = strrchr(buf, ')') + 2;
    unsigned long long u, s;
    sscanf(p, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &u, &s);
    return (double)(u + s) * 1e6 / sysconf(_SC_CLK_TCK);
}

int main(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *k = argv[i], *v = argv[i + 1];
        if (!strcmp(k, "--host")) host = v;
        else if (!strcmp(k, "--port")) port = atoi(v);
        else if (!strcmp(k, "--conns")) n_conns = atoi(v);
        else if (!strcmp(k, "--depth")) depth = atoi(v);
        else if (!strcmp(k, "--seconds")) seconds = atoi(v);
        else if (!strcmp(k, "--topics")) n_topics = atoi(v);
        else if (!strcmp(k, "--prefix")) prefix = v;
        else if (!strcmp(k, "--pid")) pid = atol(v);
        else if (!strcmp(k, "--version")) version = atoi(v);
        else if (!strcmp(k, "--expect")) expect_code = atoi(v);
        else if (!strcmp(k, "--rate")) rate = atof(v);
        else if (!strcmp(k, "--serialize")) binary = !strcmp(v, "rocketmq");
        else { fprintf(stderr, "nsload: unknown option %s\n", k); return 2; }
    }
    if (depth < 1 || depth > MAX_DEPTH || n_topics < 1 || strlen(prefix) > 100) { fprintf(stderr, "nsload: bad option value\n"); return 2; }
    struct rlimit rl = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_NOFILE, &rl)) { getrlimit(RLIMIT_NOFILE, &rl); rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl); }

    struct conn **cs = calloc((size_t)n_conns, sizeof *cs);
    int ep = epoll_create1(0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, host, &a.sin_addr);
    for (int i = 0; i < n_conns; i++) {
        struct conn *c = cs[i] = calloc(1, sizeof *c);
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (c->fd < 0) die("socket");
        if (!strcmp(host, "127.0.0.1")) { /* spread over loopback addresses: no port exhaustion */
            struct sockaddr_in b = {.sin_family = AF_INET};
            b.sin_addr.s_addr = htonl(0x7F000001u + (uint32_t)(i / 20000));
            bind(c->fd, (struct sockaddr *)&b, sizeof b);
        }
        if (connect(c->fd, (struct sockaddr *)&a, sizeof a)) die("connect");
        int one = 1;
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        c->cap = 8192;
        c->in = malloc(c->cap);
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev);
    }
    double cpu0 = pid ? server_cpu_us() : 0;
    uint64_t start = now_ns(), end = start + (uint64_t)seconds * 1000000000ull;
    uint64_t interval = rate > 0 ? (uint64_t)(1e9 / rate) : 0, due = start;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event timer_event = {.events = EPOLLIN, .data.ptr = NULL};
    if (interval) epoll_ctl(ep, EPOLL_CTL_ADD, timer, &timer_event);
    for (int i = 0; i < n_conns && !interval; i++) {
        for (int d = 0; d < depth; d++) submit(cs[i], now_ns());
        flush_out(cs[i]);
    }
    struct epoll_event evs[512];
    uint64_t t = start;
    while (t < end) {
        if (interval) {
            due = submit_due(cs, due, interval, now_ns());
            /* When all connections are full, an answer wakes us; until then, the next one that falls due. */
            uint64_t now = now_ns();
            wake_at(timer, due > now ? due : now + interval);
        }
        int n = epoll_wait(ep, evs, 512, 100);
        t = now_ns();
        for (int i = 0; i < n; i++) {
            struct conn *c = evs[i].data.ptr;
            if (!c) {
                uint64_t ticks;
                if (read(timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN) die("timer");
                continue;
            }
            if (c->cap - c->have < 4096) {
                c->cap *= 2;
                if (c->cap > 64u << 20) { fprintf(stderr, "nsload: response too large\n"); return 2; }
                c->in = realloc(c->in, c->cap);
            }
            ssize_t r = recv(c->fd, c->in + c->have, c->cap - c->have, 0);
            if (r == 0) { fprintf(stderr, "nsload: the server closed a connection\n"); return 2; }
            if (r < 0) { if (errno == EAGAIN) continue; die("recv"); }
            c->have += (size_t)r;
            int done = drain(c, t);
            for (int d = 0; d < done && !interval; d++) submit(c, t);
            if (done) flush_out(c);
        }
    }
    /* What was due and could not even be sent waits still: it counts with the time waited so far. */
    for (; interval && due < t; due += interval) {
        uint64_t d = t - due;
        if (d > max_ns) max_ns = d;
        hist[bucket(d)]++;
        requests++;
        unsent++;
    }
    double wall = (now_ns() - start) / 1e9, cpu = pid ? server_cpu_us() - cpu0 : 0;
    printf("{\"conns\":%d,\"depth\":%d,\"requests\":%llu,\"errors\":%llu,\"seconds\":%.2f,\"rps\":%.0f,\"mb_in\":%.1f,"
           "\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,\"unsent\":%llu",
           n_conns, depth, (unsigned long long)requests, (unsigned long long)errors, wall, (double)(requests - unsent) / wall, bytes_in / 1e6,
           percentile(.50), percentile(.90), percentile(.99), percentile(.999), max_ns / 1000.0, (unsigned long long)unsent);
    if (pid && requests > unsent) printf(",\"server_cpu_us_per_request\":%.2f,\"server_cores\":%.2f", cpu / (double)(requests - unsent), cpu / 1e6 / wall);
    printf("}\n");
    return errors ? 1 : 0;
}
