// SPDX-License-Identifier: Apache-2.0
// Sets the driver's duty, or sends a position at once: driver online|offline|send [SOCKET]
// Build: cc -Wall -Wextra -Werror -O2 -o driver driver.c. docs/driver-app.md explains it.
// Exit status: 0 done, 1 refused, 64 wrong arguments, 69 no daemon answers.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static const struct { const char *word, *call; } calls[] = {
  {"online", "{\"method\":\"io.fleet-locationd.Control.SetOnline\",\"parameters\":{\"online\":true}}"},
  {"offline", "{\"method\":\"io.fleet-locationd.Control.SetOnline\",\"parameters\":{\"online\":false}}"},
  {"send", "{\"method\":\"io.fleet-locationd.Control.SendNow\"}"},
};

// Sends the call and its NUL, and reads up to the NUL of the reply. Returns false on an error, which is in errno.
static int exchange(const char *path, const char *call, char *reply, size_t size) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const struct timeval limit = {.tv_sec = 5};
  size_t length = 0;
  int daemon = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A path that is too long is truncated, and no daemon listens there.
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  setsockopt(daemon, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(daemon, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int is_sent = connect(daemon, (struct sockaddr *)&address, sizeof address) == 0 &&
                send(daemon, call, strlen(call) + 1, MSG_NOSIGNAL) == (ssize_t)strlen(call) + 1;
  while (is_sent && length < size) {
    ssize_t count = recv(daemon, reply + length, size - length, 0);
    if (count == 0) errno = ECONNRESET;
    if (count <= 0) break;
    length += (size_t)count;
    if (reply[length - 1] == 0) return close(daemon) == 0;
  }
  if (length == size) errno = EMSGSIZE;
  close(daemon);
  return 0;
}

// Prints the text of a key, if the reply has it. Quotation marks within a text have backslashes, so a match is a key.
static void print(const char *reply, const char *key) {
  const char *text = strstr(reply, key);
  if (!text) return;
  for (text += strlen(key); *text && *text != '"'; text++) {
    int is_escaped = *text == '\\';
    if (is_escaped && !*++text) break;
    putchar(is_escaped && *text == 'n' ? '\n' : *text);
  }
  putchar('\n');
}

int main(int count, char **arguments) {
  const char *path = count == 3 ? arguments[2] : "/run/fleet-locationd/control.sock";
  const char *call = NULL;
  char reply[8192];
  for (size_t i = 0; count > 1 && i < sizeof calls / sizeof *calls; i++)
    if (strcmp(arguments[1], calls[i].word) == 0) call = calls[i].call;
  if (!call || count > 3) {
    fprintf(stderr, "usage: driver online|offline|send [SOCKET]\n");
    return 64;
  }
  if (!exchange(path, call, reply, sizeof reply)) {
    perror(path);
    return 69;
  }
  // Why it was refused, or what the driver should know although it succeeded.
  print(reply, "\"message\":\"");
  print(reply, "\"remark\":\"");
  return strstr(reply, "\"error\":\"") != NULL;
}
