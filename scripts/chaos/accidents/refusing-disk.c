/* Loaded before the C library: as long as the file REFUSING_DISK exists, every sync fails with EIO. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int sync_unless_refused(const char *name, int file) {
  const char *refusing = getenv("REFUSING_DISK");
  if (refusing != NULL && access(refusing, F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  int (*real_sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real_sync(file);
}

int fsync(int file) { return sync_unless_refused("fsync", file); }

int fdatasync(int file) { return sync_unless_refused("fdatasync", file); }
