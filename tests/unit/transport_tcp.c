/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/transport_tcp.c: addresses, interfaces, the handshake, and two TCP endpoints in one process. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "test.h"
#include "transport/listener.h"
#include "transport/tcp.h"
#include "transport/tcp_internal.h"

TEST(addresses_are_read_and_written)
{
    banyan_address address;
    banyan_error err;
    char text[BANYAN_ADDRESS_TEXT];

    assert_int_equal(banyan_address_parse("127.0.0.1:4711", 0, &address, &err), BANYAN_SUCCESS);
    assert_string_equal(banyan_address_format(&address, text), "127.0.0.1:4711");
    assert_int_equal(banyan_address_parse("[::1]:80", 0, &address, &err), BANYAN_SUCCESS);
    assert_string_equal(banyan_address_format(&address, text), "[::1]:80");
    assert_int_equal(banyan_address_parse("127.0.0.1", 0, &address, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "'127.0.0.1' is not an address like 10.0.0.1:4000");
    assert_int_equal(banyan_address_parse("[::1]", 0, &address, &err), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_address_parse("host:", 0, &address, &err), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_address_parse(":80", 0, &address, &err), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_address_parse("h:123456", 0, &address, &err), BANYAN_INVALID_ARGUMENT);
}

static const char *chosen(const char *wish, char text[BANYAN_ADDRESS_TEXT])
{
    banyan_interface found[BANYAN_INTERFACES] = {0};
    banyan_error err = {""};
    int count = 0;

    if (banyan_interface_choose(wish, AF_INET, BANYAN_INTERFACES, found, &count, &err)) {
        snprintf(text, BANYAN_ADDRESS_TEXT, "%.71s", err.text);
        return text;
    }
    assert_in_range(count, 1, BANYAN_INTERFACES);
    return banyan_address_format(&found[0].address, text);
}

TEST(interfaces_are_chosen_as_nccl_does)
{
    char text[BANYAN_ADDRESS_TEXT];

    assert_string_equal(chosen("lo", text), "127.0.0.1:0");
    assert_string_equal(chosen("=lo", text), "127.0.0.1:0");
    assert_string_equal(chosen("nosuch,lo", text), "127.0.0.1:0");
    assert_string_equal(chosen("127.0.0.1", text), "127.0.0.1:0");
    assert_string_equal(chosen("127.0.0.0/8", text), "127.0.0.1:0");
    assert_non_null(strstr(chosen("=l", text), "no interface that is up fits BANYAN_SOCKET_IFNAME==l"));
    assert_non_null(strstr(chosen("203.0.113.0/24", text), "no interface"));
    assert_non_null(strstr(chosen("a,,b", text), "is not a list like"));
    assert_non_null(strstr(chosen("^", text), "is not a list like"));
    assert_string_not_equal(chosen("^nosuch", text), "");
}

TEST(an_interface_knows_its_network_and_is_found_once)
{
    banyan_interface found[BANYAN_INTERFACES] = {0};
    banyan_address near_one = {.family = AF_INET, .bytes = {127, 9, 9, 9}};
    banyan_address far_one = {.family = AF_INET, .bytes = {203, 0, 113, 1}};
    int count = 0;

    assert_int_equal(
        banyan_interface_choose("lo,127.0.0.0/8,=lo", AF_INET, BANYAN_INTERFACES, found, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_string_equal(found[0].name, "lo");
    assert_int_equal(found[0].network_bits, 8);
    assert_true(banyan_interface_leads_to(&found[0], &near_one));
    assert_false(banyan_interface_leads_to(&found[0], &far_one));
}

/* The kernel counts what segments carry; we mean the wire, with 66 bytes around each segment. */
TEST(the_kernel_is_told_how_fast_to_send)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), segment = 600, is;
    unsigned long most = 0;
    socklen_t length = sizeof most, is_length = sizeof is;

    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment), 0);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &is, &is_length), 0);
    assert_true(fabs(banyan_socket_wire_bytes(fd) - (is + 66.0) / is) < 1e-12);
    banyan_socket_pace(fd, 12.5e6 * (is + 66) / is);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &most, &length), 0);
    assert_true(most >= 12499999 && most <= 12500000);
    banyan_socket_pace(fd, 0);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &most, &length), 0);
    assert_true(most == ~0ul);
    close(fd);
}

TEST(a_range_of_ports_is_kept_to_and_says_when_it_is_used_up)
{
    banyan_address local = {.family = AF_INET, .bytes = {127, 0, 0, 1}}, bound = {0}, other;
    banyan_error err = {""};
    int first, second = -1;
    char says[100];

    assert_int_equal(banyan_socket_listen(&local, 0, 0, &first, &bound, NULL), 0);
    assert_int_equal(banyan_socket_listen(&local, bound.port, bound.port, &second, &other, &err),
                     BANYAN_SYSTEM_ERROR);
    snprintf(says, sizeof says, "BANYAN_PORT_RANGE=%d-%d: no port of 127.0.0.1 is free", bound.port,
             bound.port);
    CHECK_SAYS(err, says);
    close(first);
    assert_int_equal(banyan_socket_listen(&local, bound.port, bound.port, &second, &other, &err), 0);
    assert_int_equal(other.port, bound.port);
    close(second);
}

/* Moves bytes between two handshakes, so many at a time. */
static banyan_status shake(banyan_handshake *a, banyan_handshake *b, size_t portion, banyan_error *err)
{
    for (int turn = 0; turn < 2000; turn++) {
        banyan_handshake *from = turn % 2 ? a : b, *to = turn % 2 ? b : a;
        size_t count = from->out_end - from->out_begin;
        banyan_status status;

        count = count < portion ? count : portion;
        count = count < to->in_wanted - to->in_count ? count : to->in_wanted - to->in_count;
        status = banyan_handshake_take(to, from->out + from->out_begin, count, err);
        from->out_begin += count;
        if (status)
            return status;
        if (banyan_handshake_awaits_verdict(to))
            banyan_handshake_give_verdict(to, BANYAN_SUCCESS);
    }
    return banyan_handshake_is_complete(a) && banyan_handshake_is_complete(b) ? BANYAN_SUCCESS
                                                                              : BANYAN_IN_PROGRESS;
}

TEST(a_handshake_succeeds_with_one_secret_in_portions_of_any_size)
{
    banyan_secret secret;
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_DATA, 3, 8, 1, 2};

    banyan_auth_secret_from_text("open sesame", &secret);
    for (size_t portion = 1; portion < 100; portion += 13) {
        banyan_handshake a, b;

        banyan_handshake_connect(&a, &secret, &hello, NULL);
        banyan_handshake_accept(&b, &secret, NULL);
        assert_int_equal(shake(&a, &b, portion, NULL), BANYAN_SUCCESS);
        assert_int_equal(b.hello.from, 3);
        assert_int_equal(b.hello.count, 2);
    }
}

TEST(a_handshake_fails_with_two_secrets_and_tells_nothing_else)
{
    static const unsigned char zeros[BANYAN_AUTH_BYTES];
    banyan_secret one, other;
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_DATA, 3, 8, 1, 2};
    banyan_handshake a, b;
    banyan_error err = {""};

    banyan_auth_secret_from_text("one", &one);
    banyan_auth_secret_from_text("other", &other);
    banyan_handshake_connect(&a, &one, &hello, NULL);
    banyan_handshake_accept(&b, &other, NULL);
    assert_int_equal(shake(&a, &b, 100, &err), BANYAN_MISMATCH);
    CHECK_SAYS(err, "does not hold the same secret");
    assert_int_equal(b.out_end - b.out_begin, sizeof zeros); /* a refusal, and no proof of its own */
    assert_memory_equal(b.out + b.out_begin, zeros, sizeof zeros);
    assert_int_equal(banyan_handshake_take(&a, b.out + b.out_begin, sizeof zeros, &err), BANYAN_MISMATCH);
    CHECK_SAYS(err, "does not hold the same secret");
}

/* What one connection has proven is worth nothing on another. */
TEST(a_proof_cannot_be_used_again)
{
    banyan_secret secret;
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_DATA, 0, 2, 0, 1};
    banyan_handshake a, b, c;
    unsigned char answer[80];
    size_t bytes;

    banyan_auth_secret_from_text("secret", &secret);
    banyan_handshake_connect(&a, &secret, &hello, NULL);
    banyan_handshake_accept(&b, &secret, NULL);
    banyan_handshake_take(&a, b.out, b.out_end, NULL);
    bytes = a.out_end;
    memcpy(answer, a.out, bytes);
    assert_int_equal(banyan_handshake_take(&b, answer, bytes, NULL), BANYAN_SUCCESS);
    banyan_handshake_accept(&c, &secret, NULL);
    assert_int_equal(banyan_handshake_take(&c, answer, bytes, NULL), BANYAN_MISMATCH);
}

/* Two members in one thread: the listener of member 1 is served by the test. */
typedef struct {
    banyan_secret secret;
    banyan_address addresses[2];
    banyan_address others[2][BANYAN_INTERFACES - 1];
    banyan_tcp_meeting meetings[2];
    banyan_endpoint *ends[2];
    banyan_listener *listener;
    int spread_count, note_count;
    char sentence[512], note[600];
} couple;

static const char *name(void *context, int member, char *buffer, size_t size)
{
    (void)context;
    snprintf(buffer, size, "rank %d", member);
    return buffer;
}

static void spread(void *context, banyan_status status, const char *sentence)
{
    couple *c = context;

    (void)status;
    c->spread_count++;
    snprintf(c->sentence, sizeof c->sentence, "%s", sentence);
}

static void note(void *context, const char *sentence)
{
    couple *c = context;

    c->note_count++;
    snprintf(c->note, sizeof c->note, "%s", sentence);
}

static banyan_status ask(void *context, const banyan_hello *hello)
{
    (void)context;
    (void)hello;
    return BANYAN_SUCCESS;
}

static void take(void *context, const banyan_hello *hello, int fd)
{
    banyan_tcp_hand_over(((couple *)context)->ends[1], hello, fd);
}

static const banyan_transport *tcp = &banyan_transport_tcp;

static void meet_over(couple *c, int interfaces, int connections, size_t window)
{
    banyan_address local = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
    banyan_address second = {.family = AF_INET, .bytes = {127, 0, 0, 2}};
    banyan_listener_handler handler = {.context = c, .ask = ask, .take = take};

    memset(c, 0, sizeof *c);
    banyan_auth_secret_from_text("couple", &c->secret);
    assert_int_equal(banyan_listener_create(&local, 0, 0, &c->secret, 5000, &handler, &c->listener, NULL), 0);
    c->addresses[1] = *banyan_listener_address(c->listener);
    if (interfaces == 2) {
        assert_int_equal(banyan_listener_add(c->listener, &second, 0, 0, NULL), 0);
        c->others[1][0] = *banyan_listener_address_of(c->listener, 1);
        assert_null(banyan_listener_address_of(c->listener, 2));
    }
    for (int i = 0; i < 2; i++) {
        banyan_opening opening = {i, 2, &c->meetings[i]};

        c->meetings[i] = (banyan_tcp_meeting){.secret = &c->secret,
                                              .addresses = c->addresses,
                                              .others = interfaces > 1 ? c->others[0] : NULL,
                                              .connections = connections,
                                              .window_bytes = window,
                                              .context = c,
                                              .name = name,
                                              .spread = spread,
                                              .note = note};
        assert_int_equal(tcp->open(&opening, &c->ends[i], NULL), 0);
    }
}

static void meet(couple *c, int connections, size_t window)
{
    meet_over(c, 1, connections, window);
}

static void part(couple *c)
{
    tcp->close(c->ends[0]);
    tcp->close(c->ends[1]);
    banyan_listener_destroy(c->listener);
}

static void progress(couple *c)
{
    banyan_listener_progress(c->listener);
    tcp->wait(c->ends[0], 0, NULL);
    tcp->wait(c->ends[1], 0, NULL);
}

static void fill(unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)((i * 31 + i / 251 + seed) % 253);
}

/* Ends one of the connections, as either end's system may; 0: it is not open yet. */
static int cut_link(couple *c, int end, int index)
{
    banyan_tcp_peer *peer = ((banyan_tcp_endpoint *)c->ends[end])->peers[1 - end];

    return peer && peer->links[index].state == BANYAN_LINK_OPEN &&
           shutdown(peer->links[index].fd, SHUT_RDWR) == 0;
}

static void check_order_with_cuts(int interfaces, int connections, size_t window, const int *cuts,
                                  int cut_count)
{
    enum { BYTES = 1000003, STREAMS = 3 };
    static unsigned char sent[STREAMS][BYTES], got[STREAMS][BYTES];
    size_t offered[STREAMS] = {0}, received[STREAMS] = {0};
    couple c;
    int done = 0, cut = 0;

    memset(got, 0, sizeof got);
    meet_over(&c, interfaces, connections, window);
    assert_int_equal(tcp->connect(c.ends[0], 1, STREAMS, 0, 0, NULL), 0);
    assert_int_equal(tcp->connect(c.ends[1], 0, 0, STREAMS, 0, NULL), 0);
    for (int s = 0; s < STREAMS; s++)
        fill(sent[s], BYTES, (unsigned)s);
    for (long turns = 0; done < STREAMS && turns < 1000000; turns++) {
        progress(&c);
        if (cut < cut_count && received[0] > BYTES / 8 * (size_t)(cut + 1))
            cut += cut_link(&c, cut % 2, cuts[cut]);
        done = 0;
        for (int s = 0; s < STREAMS; s++) {
            const void *memory;
            size_t there, portion = 20000u + 7001u * (unsigned)s;

            portion = BYTES - offered[s] < portion ? BYTES - offered[s] : portion;
            offered[s] += tcp->offer(c.ends[0], 1, s, sent[s] + offered[s], portion);
            there = tcp->peek(c.ends[1], 0, s, &memory);
            if (there) {
                there = there > 3000 ? there - 1 : there;
                memcpy(got[s] + received[s], memory, there);
                tcp->consume(c.ends[1], 0, s, there);
                received[s] += there;
            }
            done += received[s] == BYTES && tcp->sent(c.ends[0], 1, s) == BYTES;
        }
    }
    assert_int_equal(done, STREAMS);
    for (int s = 0; s < STREAMS; s++)
        assert_memory_equal(sent[s], got[s], BYTES);
    for (int i = 0; i < 10000 && c.note_count < 2 * cut_count; i++)
        progress(&c);
    assert_int_equal(cut, cut_count);
    assert_int_equal(c.note_count, 2 * cut_count);
    assert_int_equal(c.spread_count, 0);
    part(&c);
}

static void check_order(int interfaces, int connections, size_t window)
{
    check_order_with_cuts(interfaces, connections, window, NULL, 0);
}

TEST(bytes_of_every_stream_come_in_order)
{
    check_order(1, 1, 1 << 20);
    check_order(1, 1, 5000);
}

TEST(bytes_that_are_dealt_to_several_connections_come_in_order)
{
    check_order(1, 3, 1 << 20);
    check_order(1, 4, 100000);
}

/* One end has two addresses, the other one: both ends know that two connections are meant. */
TEST(bytes_that_are_dealt_to_several_interfaces_come_in_order)
{
    check_order(2, 1, 1 << 20);
    check_order(2, 3, 100000);
}

TEST(connections_that_are_lost_while_another_is_left_lose_no_bytes)
{
    check_order_with_cuts(2, 1, 1 << 20, (const int[]){1}, 1);
    check_order_with_cuts(2, 1, 1 << 20, (const int[]){0}, 1);
    check_order_with_cuts(2, 2, 100000, (const int[]){0, 2, 1}, 3);
}

TEST(a_stream_that_nobody_reads_does_not_hold_up_another)
{
    static unsigned char bytes[1 << 20];
    couple c;
    const void *memory;
    size_t got = 0, there;

    meet(&c, 1, 8192);
    tcp->connect(c.ends[0], 1, 2, 0, 0, NULL);
    tcp->connect(c.ends[1], 0, 0, 2, 0, NULL);
    assert_int_equal(tcp->offer(c.ends[0], 1, 0, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(tcp->offer(c.ends[0], 1, 1, bytes, sizeof bytes), sizeof bytes);
    for (long turns = 0; got < sizeof bytes && turns < 1000000; turns++) {
        progress(&c);
        there = tcp->peek(c.ends[1], 0, 1, &memory);
        if (there)
            tcp->consume(c.ends[1], 0, 1, there);
        got += there;
    }
    assert_int_equal(got, sizeof bytes);
    assert_true(tcp->sent(c.ends[0], 1, 0) <= 8192);
    tcp->withdraw(c.ends[0]);
    part(&c);
}

TEST(a_wait_without_news_ends_at_its_deadline)
{
    couple c;
    double begin_s = banyan_clock_s();

    meet(&c, 1, 8192);
    assert_int_equal(tcp->wait(c.ends[0], banyan_clock_ns() + 30000000, NULL), BANYAN_TIMEOUT);
    assert_true(banyan_clock_s() - begin_s >= 0.03);
    part(&c);
}

TEST(the_first_abort_is_told_and_ends_waiting)
{
    couple c;
    banyan_error err = {""};

    meet(&c, 1, 8192);
    tcp->abort(c.ends[0], BANYAN_REMOTE_ERROR, "enough");
    tcp->abort(c.ends[0], BANYAN_TIMEOUT, "too late");
    assert_int_equal(c.spread_count, 1);
    assert_int_equal(tcp->wait(c.ends[0], INT64_MAX, &err), BANYAN_REMOTE_ERROR);
    assert_string_equal(err.text, "enough");
    part(&c);
}

/* Whoever has all it needs leaves at once; others still write to it what it need not hear. */
TEST(what_a_peer_sent_before_it_left_is_there_though_nothing_can_be_written_to_it)
{
    static const char late[20000];
    couple c;
    const void *memory;
    banyan_status status = BANYAN_SUCCESS;

    meet(&c, 1, 1 << 20);
    tcp->connect(c.ends[0], 1, 1, 1, 0, NULL);
    tcp->connect(c.ends[1], 0, 1, 1, 0, NULL);
    tcp->offer(c.ends[0], 1, 0, "x", 1);
    for (int i = 0; i < 10000 && !tcp->peek(c.ends[1], 0, 0, &memory); i++)
        progress(&c);
    tcp->consume(c.ends[1], 0, 0, 1);
    tcp->offer(c.ends[1], 0, 0, "last", 4);
    for (int i = 0; i < 100 && tcp->sent(c.ends[1], 0, 0) < 4; i++)
        tcp->wait(c.ends[1], 0, NULL);
    tcp->close(c.ends[1]);
    for (int i = 0; i < 3; i++) {
        tcp->offer(c.ends[0], 1, 0, late, sizeof late); /* written at once, unlike a few bytes */
        usleep(20000);
    }
    for (int i = 0; i < 3 && !status; i++)
        status = tcp->wait(c.ends[0], banyan_clock_ns() + 2000000000, NULL);
    assert_true(status == BANYAN_SUCCESS || status == BANYAN_TIMEOUT);
    assert_int_equal(tcp->peek(c.ends[0], 1, 0, &memory), 4);
    assert_memory_equal(memory, "last", 4);
    tcp->close(c.ends[0]);
    banyan_listener_destroy(c.listener);
}

TEST(a_door_that_is_shut_makes_the_peer_lost)
{
    couple c;
    banyan_error err = {""};
    banyan_status status = BANYAN_SUCCESS;

    meet(&c, 1, 8192);
    banyan_listener_destroy(c.listener);
    c.listener = NULL;
    tcp->connect(c.ends[0], 1, 1, 0, 0, NULL);
    tcp->offer(c.ends[0], 1, 0, "x", 1);
    for (int i = 0; i < 100 && !status; i++)
        status = tcp->wait(c.ends[0], banyan_clock_ns() + 5000000000, &err);
    assert_int_equal(status, BANYAN_PEER_LOST);
    CHECK_SAYS(err, "the connection to rank 1 was lost");
    tcp->withdraw(c.ends[0]);
    part(&c);
}

/* Those before it are named, the last one ends the group. */
TEST(the_last_connection_that_is_lost_makes_the_peer_lost)
{
    static const char bytes[100000];
    couple c;
    banyan_error err = {""};
    banyan_status status = BANYAN_SUCCESS;
    const void *memory;

    meet_over(&c, 2, 1, 1 << 20);
    tcp->connect(c.ends[0], 1, 1, 1, 0, NULL);
    tcp->connect(c.ends[1], 0, 1, 1, 0, NULL);
    tcp->offer(c.ends[0], 1, 0, bytes, sizeof bytes);
    tcp->offer(c.ends[1], 0, 0, bytes, sizeof bytes);
    for (int i = 0;
         i < 10000 && (!tcp->peek(c.ends[1], 0, 0, &memory) || !tcp->peek(c.ends[0], 1, 0, &memory)); i++)
        progress(&c);
    cut_link(&c, 0, 0);
    for (int i = 0; i < 10000 && c.note_count < 2; i++)
        progress(&c);
    assert_int_equal(c.note_count, 2);
    assert_non_null(strstr(c.note, "was lost: the connection was closed"));
    cut_link(&c, 0, 1);
    for (int i = 0; i < 100 && (!status || status == BANYAN_TIMEOUT); i++)
        status = tcp->wait(c.ends[0], banyan_clock_ns() + 100000000, &err);
    assert_int_equal(status, BANYAN_PEER_LOST);
    CHECK_SAYS(err, "the connection to rank 1 was lost");
    part(&c);
}

/* Frames that are not ours: each is a sentence. */
static banyan_status parse(const unsigned char *bytes, size_t count, banyan_error *err)
{
    banyan_tcp_peer peer = {.member = 1, .link_count = 1};
    banyan_tcp_link link = {.peer = &peer, .fd = -1};
    banyan_status status;
    int has_changed = 0;

    peer.links = &link;
    assert_int_equal(banyan_tcp_widen_in(&peer, 2, 64, NULL), 0);
    peer.in[0]->granted = 64;
    memcpy(link.in, bytes, count);
    link.in_end = count;
    status = banyan_tcp_parse(&link, &has_changed, err);
    banyan_tcp_free_streams(&peer);
    return status;
}

TEST(frames_that_are_not_ours_are_refused)
{
    banyan_error err = {""};
    const unsigned char rubbish[16] = {1, 2, 3, 0x77};
    const unsigned char beyond[16] = {0, 0, 0, BANYAN_TCP_DATA, 65};
    const unsigned char empty[16] = {0, 0, 0, BANYAN_TCP_DATA};
    const unsigned char unknown[16] = {9, 0, 0, BANYAN_TCP_DATA, 1};
    const unsigned char far_credit[16] = {0, 0, 1, BANYAN_TCP_CREDIT};
    const unsigned char fine[20] = {0, 0, 0, BANYAN_TCP_DATA, 4};
    const unsigned char other_lost[16] = {5, 0, 0, BANYAN_TCP_LOST};
    const unsigned char itself_lost[16] = {0, 0, 0, BANYAN_TCP_LOST};

    assert_int_equal(parse(rubbish, 16, &err), BANYAN_REMOTE_ERROR);
    CHECK_SAYS(err, "a frame of type 119");
    assert_int_equal(parse(beyond, 16, &err), BANYAN_REMOTE_ERROR);
    CHECK_SAYS(err, "beyond what was granted");
    assert_int_equal(parse(empty, 16, &err), BANYAN_REMOTE_ERROR);
    assert_int_equal(parse(unknown, 16, &err), BANYAN_REMOTE_ERROR);
    CHECK_SAYS(err, "stream 9, which nobody asked for");
    assert_int_equal(parse(far_credit, 16, &err), BANYAN_REMOTE_ERROR);
    CHECK_SAYS(err, "which cannot be");
    assert_int_equal(parse(fine, 20, &err), BANYAN_SUCCESS);
    assert_int_equal(parse(other_lost, 16, &err), BANYAN_REMOTE_ERROR);
    CHECK_SAYS(err, "the loss of connection 5");
    assert_int_equal(parse(itself_lost, 16, &err), BANYAN_REMOTE_ERROR);
}

/* Its second half may come before its first: what has come would not be what is there. */
TEST(a_stripe_that_comes_over_two_connections_is_refused_unless_one_is_lost)
{
    banyan_tcp_peer peer = {.member = 1, .link_count = 2};
    banyan_tcp_in *in;

    assert_int_equal(banyan_tcp_widen_in(&peer, 1, 3 * BANYAN_TCP_STRIPE_BYTES, NULL), 0);
    in = peer.in[0];
    in->granted = 3 * BANYAN_TCP_STRIPE_BYTES;
    assert_true(banyan_tcp_claim(in, 0, 0, 100));
    assert_false(banyan_tcp_claim(in, 1, 100, 100));
    assert_true(banyan_tcp_claim(in, 1, BANYAN_TCP_STRIPE_BYTES, 100));
    assert_true(banyan_tcp_claim(in, 0, 100, BANYAN_TCP_STRIPE_BYTES - 100));
    banyan_tcp_arrive(in, BANYAN_TCP_STRIPE_BYTES, 100);
    assert_int_equal(in->arrived, 0);
    banyan_tcp_arrive(in, 0, BANYAN_TCP_STRIPE_BYTES);
    assert_int_equal(in->arrived, BANYAN_TCP_STRIPE_BYTES + 100);
    assert_false(banyan_tcp_claim(in, 0, BANYAN_TCP_STRIPE_BYTES + 100, 1));
    assert_true(banyan_tcp_claim(in, 1, BANYAN_TCP_STRIPE_BYTES + 100, 50));
    banyan_tcp_arrive(in, BANYAN_TCP_STRIPE_BYTES + 100,
                      20); /* then it is lost: the other goes on from there */
    banyan_tcp_release(in, 1);
    assert_false(banyan_tcp_claim(in, 0, BANYAN_TCP_STRIPE_BYTES + 150, 1));
    assert_true(banyan_tcp_claim(in, 0, BANYAN_TCP_STRIPE_BYTES + 120, 1));
    banyan_tcp_free_streams(&peer);
}

TEST(survives_the_failure_of_each_allocation)
{
    couple c;
    int is_done = 0;

    for (long calls = 0; !is_done; calls++) {
        meet_over(&c, 2, 1, 8192);
        banyan_alloc_fail_after(calls);
        is_done = !tcp->connect(c.ends[0], 1, 2, 2, 0, NULL) && !tcp->connect(c.ends[1], 0, 2, 2, 0, NULL);
        for (int i = 0; i < 20; i++)
            progress(&c);
        banyan_alloc_fail_after(-1);
        part(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_and_written),
        cmocka_unit_test(interfaces_are_chosen_as_nccl_does),
        cmocka_unit_test(an_interface_knows_its_network_and_is_found_once),
        cmocka_unit_test(the_kernel_is_told_how_fast_to_send),
        cmocka_unit_test(a_range_of_ports_is_kept_to_and_says_when_it_is_used_up),
        cmocka_unit_test(a_handshake_succeeds_with_one_secret_in_portions_of_any_size),
        cmocka_unit_test(a_handshake_fails_with_two_secrets_and_tells_nothing_else),
        cmocka_unit_test(a_proof_cannot_be_used_again),
        cmocka_unit_test(bytes_of_every_stream_come_in_order),
        cmocka_unit_test(bytes_that_are_dealt_to_several_connections_come_in_order),
        cmocka_unit_test(bytes_that_are_dealt_to_several_interfaces_come_in_order),
        cmocka_unit_test(connections_that_are_lost_while_another_is_left_lose_no_bytes),
        cmocka_unit_test(the_last_connection_that_is_lost_makes_the_peer_lost),
        cmocka_unit_test(a_stream_that_nobody_reads_does_not_hold_up_another),
        cmocka_unit_test(a_wait_without_news_ends_at_its_deadline),
        cmocka_unit_test(the_first_abort_is_told_and_ends_waiting),
        cmocka_unit_test(what_a_peer_sent_before_it_left_is_there_though_nothing_can_be_written_to_it),
        cmocka_unit_test(a_door_that_is_shut_makes_the_peer_lost),
        cmocka_unit_test(frames_that_are_not_ours_are_refused),
        cmocka_unit_test(a_stripe_that_comes_over_two_connections_is_refused_unless_one_is_lost),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
