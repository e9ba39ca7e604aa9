/* SPDX-License-Identifier: Apache-2.0 */
/* transport/socket.c: thin words around the socket calls. */
#include "transport/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"

#define HEADER_BYTES 66      /* of a segment: Ethernet 14, IPv4 20, TCP 20 and its timestamps 12 */
#define SILENT_PEER_MS 60000 /* unacknowledged data for so long: the connection is gone */

typedef union {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_storage room;
} wide_address;

static socklen_t widen(const banyan_address *address, wide_address *out)
{
    memset(out, 0, sizeof *out);
    if (address->family == AF_INET) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons(address->port);
        memcpy(&out->four.sin_addr, address->bytes, 4);
        return sizeof out->four;
    }
    out->six.sin6_family = AF_INET6;
    out->six.sin6_port = htons(address->port);
    out->six.sin6_scope_id = address->scope;
    memcpy(&out->six.sin6_addr, address->bytes, 16);
    return sizeof out->six;
}

static int narrow(const wide_address *from, banyan_address *out)
{
    *out = (banyan_address){.family = from->any.sa_family};
    if (from->any.sa_family == AF_INET) {
        out->port = ntohs(from->four.sin_port);
        memcpy(out->bytes, &from->four.sin_addr, 4);
        return 1;
    }
    if (from->any.sa_family == AF_INET6) {
        out->port = ntohs(from->six.sin6_port);
        out->scope = from->six.sin6_scope_id;
        memcpy(out->bytes, &from->six.sin6_addr, 16);
        return 1;
    }
    return 0;
}

const char *banyan_address_format(const banyan_address *address, char buffer[BANYAN_ADDRESS_TEXT])
{
    char number[INET6_ADDRSTRLEN] = "?", scope[16] = "";

    if (address->family == AF_INET || address->family == AF_INET6)
        inet_ntop(address->family, address->bytes, number, sizeof number);
    if (address->scope)
        snprintf(scope, sizeof scope, "%%%u", address->scope);
    snprintf(buffer, BANYAN_ADDRESS_TEXT, address->family == AF_INET6 ? "[%s%s]:%d" : "%s%s:%d", number,
             scope, address->port);
    return buffer;
}

/* Cuts 'HOST:PORT' and '[HOST]:PORT' in two. */
static int cut(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(text, ':'), *begin = text, *end = colon;

    if (!colon || colon == text || !colon[1])
        return 0;
    if (*text == '[') {
        begin = text + 1;
        end = colon - 1;
        if (*end != ']' || end <= begin)
            return 0;
    }
    if ((size_t)(end - begin) >= size)
        return 0;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    *port = colon + 1;
    return strspn(*port, "0123456789") == strlen(*port) && strlen(*port) <= 5;
}

banyan_status banyan_address_parse(const char *text, int family, banyan_address *out, banyan_error *err)
{
    struct addrinfo hints = {.ai_family = family ? family : AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    wide_address wide = {0};
    char host[256];
    const char *port;
    int error, fits;

    if (!cut(text, host, sizeof host, &port))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "'%.100s' is not an address like 10.0.0.1:4000",
                           text);
    error = getaddrinfo(host, port, &hints, &found);
    if (error)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "the address '%.100s' cannot be found: %s", text,
                           gai_strerror(error));
    memcpy(&wide, found->ai_addr, found->ai_addrlen < sizeof wide ? (size_t)found->ai_addrlen : sizeof wide);
    fits = narrow(&wide, out);
    freeaddrinfo(found);
    return fits ? BANYAN_SUCCESS
                : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "'%.100s' is not an IP address", text);
}

int banyan_socket_is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

const char *banyan_socket_advice(int error)
{
    return error == EMFILE ? " (raise 'ulimit -n')" : error == ENFILE ? " (raise fs.file-max)" : "";
}

static banyan_status fail_system(banyan_error *err, const char *what, const banyan_address *address)
{
    char text[BANYAN_ADDRESS_TEXT];

    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot %s %s: %s%s", what,
                       banyan_address_format(address, text), strerror(errno), banyan_socket_advice(errno));
}

static int bind_to(int fd, const banyan_address *address, int port)
{
    banyan_address exact = *address;
    wide_address wide;
    socklen_t length;

    exact.port = (uint16_t)port;
    length = widen(&exact, &wide);
    return bind(fd, &wide.any, length) == 0 && listen(fd, BANYAN_SOCKET_BACKLOG) == 0;
}

/* A port whose listen fails (in use) is tried no more than once; a fresh socket each time would cost more. */
static int bind_in_range(int fd, const banyan_address *address, int low, int high)
{
    if (address->port || !low)
        return bind_to(fd, address, address->port);
    for (int port = low; port <= high; port++) {
        if (bind_to(fd, address, port))
            return 1;
        if (errno != EADDRINUSE && errno != EACCES)
            return 0;
    }
    return 0;
}

static banyan_status fail_range(banyan_error *err, const banyan_address *address, int low, int high)
{
    char text[BANYAN_ADDRESS_TEXT], *port;

    banyan_address_format(address, text);
    port = strrchr(text, ':');
    *port = '\0';
    return banyan_fail(err, BANYAN_SYSTEM_ERROR,
                       "BANYAN_PORT_RANGE=%d-%d: no port of %s is free; each rank of a host needs one, or "
                       "two in a group of more than 16, and a unique id another",
                       low, high, text);
}

banyan_status banyan_socket_listen(const banyan_address *address, int low, int high, int *out,
                                   banyan_address *bound, banyan_error *err)
{
    int fd = socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1;
    banyan_status status = BANYAN_SUCCESS;

    *out = -1;
    if (fd < 0)
        return fail_system(err, "open a socket for", address);
    if (address->port) /* a port that we chose ourselves must not be shared with one that is just closing */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address->family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (!bind_in_range(fd, address, low, high) || !banyan_socket_local(fd, bound))
        status = low && !address->port && errno == EADDRINUSE ? fail_range(err, address, low, high)
                                                              : fail_system(err, "listen on", address);
    if (status)
        close(fd);
    else
        *out = fd;
    return status;
}

int banyan_socket_accept(int listening, banyan_address *from)
{
    wide_address wide = {0};
    socklen_t length = sizeof wide;
    int fd = accept4(listening, &wide.any, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0 && !narrow(&wide, from))
        *from = (banyan_address){0};
    return fd;
}

/* Two interfaces of one network: the kernel would send everything through the first. A source address alone
 * does not change that, so the device is named as well where we may. */
static banyan_status leave_through(int fd, const banyan_interface *through, banyan_error *err)
{
    banyan_address from = through->address;
    wide_address wide;
    socklen_t length;

    from.port = 0;
    length = widen(&from, &wide);
    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, through->name, (socklen_t)strlen(through->name));
    return bind(fd, &wide.any, length) == 0 ? BANYAN_SUCCESS : fail_system(err, "send from", &from);
}

banyan_status banyan_socket_connect(const banyan_address *to, const banyan_interface *through, int *out,
                                    banyan_error *err)
{
    int fd = socket(to->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    wide_address wide;
    socklen_t length = widen(to, &wide);
    banyan_status status;

    *out = -1;
    if (fd < 0)
        return fail_system(err, "open a socket for", to);
    status = through ? leave_through(fd, through, err) : BANYAN_SUCCESS;
    if (!status && connect(fd, &wide.any, length) != 0 && errno != EINPROGRESS)
        status = fail_system(err, "connect to", to);
    if (status)
        close(fd);
    else
        *out = fd;
    return status;
}

banyan_status banyan_socket_connected(int socket, const banyan_address *to, banyan_error *err)
{
    socklen_t length = sizeof errno;
    banyan_status status;
    int error = 0;

    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (!error)
        return BANYAN_SUCCESS;
    errno = error;
    status = fail_system(err, "connect to", to);
    return error == ECONNRESET || error == EPIPE ? BANYAN_PEER_LOST : status; /* EPIPE: closed, then reset */
}

void banyan_socket_tune(int socket, size_t buffer_bytes)
{
    int yes = 1, idle_s = 10, every_s = 5, count = 4;
    unsigned silent_ms = SILENT_PEER_MS;
    int bytes = buffer_bytes > 1 << 30 ? 1 << 30 : (int)buffer_bytes;

    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof silent_ms);
    if (bytes) {
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
}

double banyan_socket_wire_bytes(int socket)
{
    int segment = 0;
    socklen_t length = sizeof segment;

    if (getsockopt(socket, IPPROTO_TCP, TCP_MAXSEG, &segment, &length) != 0 || segment <= 0)
        return 1;
    return 1 + HEADER_BYTES / (double)segment;
}

/* The kernel counts the segments without headers. */
void banyan_socket_pace(int socket, double bytes_per_s)
{
    double counted_per_s = bytes_per_s / banyan_socket_wire_bytes(socket);
    int is_bounded =
        counted_per_s > 0 && counted_per_s < 4e9; /* above, older kernels would read another figure */
    unsigned long most = is_bounded ? (unsigned long)counted_per_s : ~0ul;

    setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &most, sizeof most);
}

int banyan_socket_local(int socket, banyan_address *out)
{
    wide_address wide;
    socklen_t length = sizeof wide;

    memset(&wide, 0, sizeof wide);
    return getsockname(socket, &wide.any, &length) == 0 && narrow(&wide, out);
}

int banyan_socket_peer(int socket, banyan_address *out)
{
    wide_address wide;
    socklen_t length = sizeof wide;

    memset(&wide, 0, sizeof wide);
    return getpeername(socket, &wide.any, &length) == 0 && narrow(&wide, out);
}

int banyan_socket_wait(int socket, short events, int64_t deadline_ns)
{
    struct pollfd one = {.fd = socket, .events = events};

    for (;;) {
        int64_t left_ns = deadline_ns - banyan_clock_ns();
        int64_t left_ms = left_ns <= 0 ? 0 : left_ns / 1000000 + 1;
        int ready = poll(&one, 1, left_ms > 1000 ? 1000 : (int)left_ms);

        if (ready > 0)
            return 1;
        if (ready < 0 && errno != EINTR)
            return 0;
        if (left_ns <= 0)
            return 0;
    }
}
