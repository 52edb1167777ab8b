// Makes calls to the system fail. Preloaded into a process, it counts the calls that concern what is under
// one folder (the variable PLANWRIGHT_FAULTS), and fails those that it was told to.
//
// It is told by opening a path that is none: /planwright-faults/<how>/<classes>/<errno>/<k>/<count>, and
// what came of it is read from /planwright-faults/report. Classes of calls, a letter each: w writes, t cuts,
// s syncs, n names (what makes, moves and takes away), r reads and looks, l locks.
//
// A sync is not carried out: nobody cuts the power here. What a loss of power would take is reported
// instead, as it follows from the calls: bytes of files and names in folders that no sync came after.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAGIC "/planwright-faults/"
#define REAL(name) ((__typeof__(&name))real(#name))
enum { PATH = 4096, MOST = 512 };
enum verdict { PASS, FAIL, HALF, DIE };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static char how[16], classes[16];
static int armed, error, cut_short = -1;
static long kth, most, calls, fired;
// What a loss of power would take: 'd' the bytes of a file, 'n' a name in its folder.
static struct { char what, path[PATH]; } unsynced[MOST];
static int lost;

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

static int inside(const char *path) {
    const char *folder = getenv("PLANWRIGHT_FAULTS");
    size_t length = folder ? strlen(folder) : 0;
    return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

// The path of an open file; empty where it is none of ours.
static const char *of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH - 1);
    path[length > 0 ? length : 0] = 0;
    if (!inside(path)) path[0] = 0;
    return path;
}

static const char *at(int fd, const char *name, char *path) {
    char folder[PATH];
    if (name[0] == '/' || fd == AT_FDCWD) snprintf(path, PATH, "%s", name);
    else if (of(fd, folder)[0]) snprintf(path, PATH, "%.2000s/%.2000s", folder, name);
    else path[0] = 0;
    return path;
}

// Forgets what is unsynced of a path, or of all that is under it, or directly in it.
static void settle(char what, const char *path, char scope) {
    size_t length = strlen(path);
    for (int i = lost - 1; i >= 0; i--) {
        const char *found = unsynced[i].path, *rest = found + length;
        if (what != '*' && unsynced[i].what != what) continue;
        if (strncmp(found, path, length)) continue;
        if (scope == 'p' && *rest) continue;
        if (scope == 'u' && *rest && *rest != '/') continue;
        if (scope == 'i' && (*rest != '/' || strchr(rest + 1, '/'))) continue;
        unsynced[i] = unsynced[--lost];
    }
}

static void loses(char what, const char *path) {
    settle(what, path, 'p');
    if (lost == MOST) abort();
    unsynced[lost].what = what;
    snprintf(unsynced[lost++].path, PATH, "%s", path);
}

// Whether a call is to go on, by its class and by what it concerns.
static enum verdict judge(char class, int fd, const char *path) {
    if (!armed || !path[0] || !inside(path)) return PASS;
    if (class == 'w' && fd == cut_short) {
        cut_short = -1;
        return FAIL;
    }
    if (!strchr(classes, class)) return PASS;
    calls++;
    if (calls < kth || calls >= kth + most) return PASS;
    fired++;
    if (!strcmp(how, "before")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "after")) return DIE;
    if (strcmp(how, "half") && strcmp(how, "short") && strcmp(how, "dies")) return FAIL;
    if (class != 'w') return strcmp(how, "dies") ? PASS : DIE;
    // What has no room for a half has none for the rest either.
    if (!strcmp(how, "half") && fired > 1) return FAIL;
    if (!strcmp(how, "half")) cut_short = fd;
    return HALF;
}

// Ends a call: by failing it, or by carrying it out.
#define CARRY_OUT(type, class, fd, path, call, then)                                                                   \
    pthread_mutex_lock(&gate);                                                                                         \
    enum verdict verdict = judge(class, fd, path);                                                                     \
    type result = (type)-1;                                                                                            \
    if (verdict == FAIL) errno = error;                                                                                \
    else result = call;                                                                                                \
    int kept = errno;                                                                                                  \
    if (result != (type)-1 && armed && path[0] && inside(path)) { then; }                                              \
    if (verdict == DIE || (verdict == HALF && !strcmp(how, "dies"))) kill(getpid(), SIGKILL);                          \
    pthread_mutex_unlock(&gate);                                                                                       \
    errno = kept;                                                                                                      \
    return result

#define PART(count) (verdict == HALF && (count) > 1 ? (count) / 2 : (count))

ssize_t write(int fd, const void *bytes, size_t count) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(ssize_t, 'w', fd, path, REAL(write)(fd, bytes, PART(count)), loses('d', path));
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t place) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(ssize_t, 'w', fd, path, REAL(pwrite64)(fd, bytes, PART(count), place), loses('d', path));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(ssize_t, 'w', fd, path, REAL(writev)(fd, parts, PART(count)), loses('d', path));
}

int ftruncate64(int fd, off64_t size) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(int, 't', fd, path, REAL(ftruncate64)(fd, size), loses('d', path));
}

static void synced(const char *path) {
    settle('d', path, 'p');
    settle('n', path, 'i');
}

int fsync(int fd) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(int, 's', fd, path, path[0] ? 0 : REAL(fsync)(fd), synced(path));
}

int fdatasync(int fd) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(int, 's', fd, path, path[0] ? 0 : REAL(fdatasync)(fd), synced(path));
}

int mkdir(const char *path, mode_t mode) {
    CARRY_OUT(int, 'n', -1, path, REAL(mkdir)(path, mode), loses('n', path));
}

int rmdir(const char *path) {
    CARRY_OUT(int, 'n', -1, path, REAL(rmdir)(path), settle('*', path, 'u'));
}

int unlink(const char *path) {
    CARRY_OUT(int, 'n', -1, path, REAL(unlink)(path), settle('*', path, 'u'));
}

int unlinkat(int fd, const char *name, int flags) {
    char path[PATH];
    at(fd, name, path);
    CARRY_OUT(int, 'n', -1, path, REAL(unlinkat)(fd, name, flags), settle('*', path, 'u'));
}

// What is under a name that moves is lost or kept under its new name, as it was under the old.
static void moved(const char *from, const char *to) {
    size_t length = strlen(from);
    settle('*', to, 'u');
    settle('n', from, 'p');
    for (int i = 0; i < lost; i++) {
        char rest[PATH], *found = unsynced[i].path;
        if (strncmp(found, from, length) || (found[length] && found[length] != '/')) continue;
        snprintf(rest, PATH, "%s", found + length);
        snprintf(found, PATH, "%.2000s%.2000s", to, rest);
    }
    loses('n', to);
}

int rename(const char *from, const char *to) {
    CARRY_OUT(int, 'n', -1, to, REAL(rename)(from, to), moved(from, to));
}

// ---- what the test says and asks, and files as they are opened

static int told(const char *path) {
    char text[64 * 1024], *end = text;
    if (strcmp(path, MAGIC "report")) {
        calls = fired = lost = 0;
        cut_short = -1;
        armed = sscanf(path, MAGIC "%15[^/]/%15[^/]/%d/%ld/%ld", how, classes, &error, &kth, &most) == 5;
        errno = ENOENT;
        return -1;
    }
    end += sprintf(end, "calls %ld\nfired %ld\n", calls, fired);
    for (int i = 0; i < lost && end < text + sizeof text - PATH - 16; i++)
        end += sprintf(end, "%s %s\n", unsynced[i].what == 'd' ? "bytes" : "name", unsynced[i].path);
    // From here on, nothing fails; what is lost is still kept account of.
    most = 0;
    cut_short = -1;
    int report = memfd_create("report", 0);
    if (REAL(write)(report, text, end - text) != end - text || lseek(report, 0, SEEK_SET)) abort();
    return report;
}

// A process that nobody can tell anything is told as it begins.
__attribute__((constructor)) static void begun(void) {
    const char *first = getenv("PLANWRIGHT_FAULTS_FIRST");
    if (first) told(first);
}

#define OPENED(call)                                                                                                   \
    mode_t mode = 0;                                                                                                   \
    if (flags & O_CREAT) {                                                                                             \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }                                                                                                                  \
    int makes = flags & O_CREAT && REAL(access)(path, F_OK);                                                           \
    CARRY_OUT(int, flags &O_CREAT ? 'n' : 'r', -1, path, call, if (makes) loses('n', path))

int open(const char *path, int flags, ...) {
    if (!strncmp(path, MAGIC, strlen(MAGIC))) return told(path);
    OPENED(REAL(open)(path, flags, mode));
}

int open64(const char *path, int flags, ...) {
    if (!strncmp(path, MAGIC, strlen(MAGIC))) return told(path);
    OPENED(REAL(open64)(path, flags, mode));
}

int openat64(int fd, const char *name, int flags, ...) {
    char path[PATH];
    at(fd, name, path);
    OPENED(REAL(openat64)(fd, name, flags, mode));
}

// ---- reads, looks and locks

ssize_t read(int fd, void *bytes, size_t count) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(ssize_t, 'r', fd, path, REAL(read)(fd, bytes, count), );
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t place) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(ssize_t, 'r', fd, path, REAL(pread64)(fd, bytes, count, place), );
}

int statx(int fd, const char *restrict name, int flags, unsigned mask, struct statx *restrict found) {
    char path[PATH];
    // Whoever asks whether there is such a call names nothing.
    const char *volatile named = name;
    if (!named) path[0] = 0;
    else if (named[0]) at(fd, named, path);
    else of(fd, path);
    CARRY_OUT(int, 'r', fd, path, REAL(statx)(fd, name, flags, mask, found), );
}

int fstat64(int fd, struct stat64 *found) {
    char path[PATH];
    of(fd, path);
    CARRY_OUT(int, 'r', fd, path, REAL(fstat64)(fd, found), );
}

DIR *opendir(const char *path) {
    pthread_mutex_lock(&gate);
    enum verdict verdict = judge('r', -1, path);
    pthread_mutex_unlock(&gate);
    if (verdict == PASS) return REAL(opendir)(path);
    errno = error;
    return NULL;
}

struct dirent64 *readdir64(DIR *folder) {
    char path[PATH];
    of(dirfd(folder), path);
    pthread_mutex_lock(&gate);
    enum verdict verdict = judge('r', -1, path);
    pthread_mutex_unlock(&gate);
    if (verdict == PASS) return REAL(readdir64)(folder);
    errno = error;
    return NULL;
}

void *mmap64(void *place, size_t length, int allows, int flags, int fd, off64_t from) {
    char path[PATH] = "";
    if (fd >= 0 && armed) of(fd, path);
    if (!path[0]) return REAL(mmap64)(place, length, allows, flags, fd, from);
    CARRY_OUT(void *, 'r', fd, path, REAL(mmap64)(place, length, allows, flags, fd, from), );
}

int flock(int fd, int operation) {
    char path[PATH];
    of(fd, path);
    if (operation != LOCK_UN) pthread_mutex_lock(&gate);
    enum verdict verdict = operation == LOCK_UN ? PASS : judge('l', fd, path);
    if (operation != LOCK_UN) pthread_mutex_unlock(&gate);
    if (verdict == PASS) return REAL(flock)(fd, operation);
    errno = error;
    return -1;
}

static int locks(int fd, int command, void *rest, int (*next)(int, int, ...)) {
    char path[PATH] = "";
    if (armed && command == F_SETLK && ((struct flock *)rest)->l_type != F_UNLCK) of(fd, path);
    pthread_mutex_lock(&gate);
    enum verdict verdict = judge('l', fd, path);
    pthread_mutex_unlock(&gate);
    if (verdict == PASS) return next(fd, command, rest);
    errno = error;
    return -1;
}

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *given = va_arg(rest, void *);
    va_end(rest);
    return locks(fd, command, given, REAL(fcntl));
}

int fcntl64(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *given = va_arg(rest, void *);
    va_end(rest);
    return locks(fd, command, given, REAL(fcntl64));
}
