/* SPDX-License-Identifier: Apache-2.0 */
/* group/status.c: the status socket and the folder it is in. */
#include "group/status.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16
#define TRIES 4

void banyan_status_folder(const char *setting, char out[BANYAN_STATUS_FOLDER_TEXT])
{
    if (!strcmp(setting, "off"))
        out[0] = 0;
    else if (strlen(setting) >= BANYAN_STATUS_FOLDER_TEXT)
        out[0] = 0; /* a socket's name would not fit behind it */
    else if (*setting)
        snprintf(out, BANYAN_STATUS_FOLDER_TEXT, "%s", setting);
    else
        snprintf(out, BANYAN_STATUS_FOLDER_TEXT, "/tmp/banyan-%u", (unsigned)geteuid());
}

/* Ours alone, or none: somebody else may have made it first. */
static banyan_status make_folder(const char *folder, banyan_error *err)
{
    struct stat facts;

    if (mkdir(folder, 0700) && errno != EEXIST)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s cannot be made: %s", folder, strerror(errno));
    if (lstat(folder, &facts) || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() ||
        (facts.st_mode & 0077))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s is not a folder that we alone can enter", folder);
    return BANYAN_SUCCESS;
}

static int address_of(const char *path, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    return (size_t)snprintf(out->sun_path, sizeof out->sun_path, "%s", path) < sizeof out->sun_path;
}

int banyan_status_connect(const char *path, int *is_stale)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *is_stale = 0;
    if (fd >= 0 && address_of(path, &address) && !connect(fd, (struct sockaddr *)&address, sizeof address))
        return fd;
    *is_stale = fd >= 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Dead by its number, and by the kernel's word: numbers mean nothing in another container. */
static int is_left_behind(const char *folder, const char *name)
{
    const char *dash = strrchr(name, '-');
    char path[400];
    int pid = 0, fd, is_stale;

    if (!dash || sscanf(dash + 1, "%d", &pid) != 1 || pid < 1 || !kill(pid, 0) || errno != ESRCH)
        return 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = banyan_status_connect(path, &is_stale);
    if (fd >= 0)
        close(fd);
    return is_stale;
}

int banyan_status_sweep(const char *folder)
{
    DIR *names = opendir(folder);
    struct dirent *entry;
    char path[400];
    int removed = 0;

    while (names && (entry = readdir(names)))
        if (entry->d_name[0] != '.' && is_left_behind(folder, entry->d_name)) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            removed += !unlink(path);
        }
    if (names)
        closedir(names);
    return removed;
}

/* A name for the group that says nothing about its secret. */
static void name_group(const banyan_secret *secret, char out[BANYAN_STATUS_GROUP_TEXT])
{
    banyan_secret derived;

    banyan_auth_secret_derive(secret, "status", 0, &derived);
    for (int i = 0; i < 6; i++)
        snprintf(out + 2 * i, 3, "%02x", derived.bytes[i]);
    banyan_auth_forget(&derived, sizeof derived);
}

static banyan_status listen_at(banyan_status_socket *out, banyan_error *err)
{
    struct sockaddr_un address;

    out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (out->fd < 0 || !address_of(out->path, &address) ||
        bind(out->fd, (struct sockaddr *)&address, sizeof address) || chmod(out->path, 0600) ||
        listen(out->fd, BACKLOG))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s: %s", out->path, strerror(errno));
    return BANYAN_SUCCESS;
}

banyan_status banyan_status_open(banyan_status_socket *out, const char *folder, const banyan_secret *secret,
                                 int rank, banyan_error *err)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;

    *out = (banyan_status_socket){.fd = -1};
    name_group(secret, out->group);
    snprintf(out->path, sizeof out->path, "%s/%s-%d-%d", folder, out->group, rank, (int)getpid());
    /* The last of another job may take the folder away in between. */
    for (int i = 0; i < TRIES && status; i++) {
        status = make_folder(folder, err);
        if (status)
            break;
        status = listen_at(out, err);
        if (status && out->fd >= 0)
            close(out->fd);
    }
    if (status) {
        *out = (banyan_status_socket){.fd = -1};
        return status;
    }
    banyan_status_sweep(folder);
    return BANYAN_SUCCESS;
}

void banyan_status_close(banyan_status_socket *status)
{
    char *slash = strrchr(status->path, '/');

    if (status->fd < 0)
        return;
    close(status->fd);
    unlink(status->path);
    if (slash) {
        *slash = 0;
        rmdir(status->path); /* only the last one succeeds */
    }
    *status = (banyan_status_socket){.fd = -1};
}
