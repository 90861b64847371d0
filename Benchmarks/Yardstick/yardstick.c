// SPDX-License-Identifier: Apache-2.0
// What the daemon is measured against: the same updates in the plain form, sent by a simple program in C on the same
// libcurl.
//
//   yardstick TOKEN-URL UPDATE-URL CA-FILE COUNT      ("-" instead of a file: the issuers of the system)
//
// It fetches a token, then sends COUNT updates one after another on one connection, and prints what it did as JSON. It
// represents the daemon of a competent C programmer, who has to read a receiver in addition to the network: so it
// drives libcurl's multi_socket interface with epoll, on one thread, and does not block in curl_easy_perform. Options
// of the connection are those of the daemon's HTTPClient. It does not have: a receiver, NMEA, a filter, settings,
// retries, a backlog, systemd.
#include <curl/curl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct answer {
  size_t size;
  char text[65536];
};

static int epoll_fd;
static int timeout_ms = -1;
static CURLM *multi;
static struct answer answer;

static void die(const char *what) {
  fprintf(stderr, "yardstick: %s\n", what);
  exit(1);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *is_known) {
  (void)easy, (void)context;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, socket, NULL);
    return 0;
  }
  struct epoll_event event = {.data.fd = socket};
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  epoll_ctl(epoll_fd, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
  curl_multi_assign(multi, socket, &epoll_fd);
  return 0;
}

static int on_timer(CURLM *handle, long milliseconds, void *context) {
  (void)handle, (void)context;
  timeout_ms = (int)milliseconds;
  return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context) {
  (void)context;
  if (size * count >= sizeof answer.text - answer.size) return 0;
  memcpy(answer.text + answer.size, bytes, size * count);
  answer.size += size * count;
  answer.text[answer.size] = 0;
  return size * count;
}

static int on_connect(void *context, curl_socket_t socket, curlsocktype purpose) {
  (void)context, (void)purpose;
  unsigned milliseconds = 30000;
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
  return CURL_SOCKOPT_OK;
}

/// Sends the request of the handle, and waits for its response as an event loop does.
static void perform(CURL *easy) {
  int running = 1, left;
  answer.size = 0;
  if (curl_multi_add_handle(multi, easy) != CURLM_OK) die("cannot add a transfer");
  curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
  while (running > 0) {
    struct epoll_event events[4];
    int count = timeout_ms == 0 ? 0 : epoll_wait(epoll_fd, events, 4, timeout_ms);
    if (count == 0) {
      timeout_ms = -1;
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (int i = 0; i < count; i++) {
      int mask = 0;
      if (events[i].events & EPOLLIN) mask |= CURL_CSELECT_IN;
      if (events[i].events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
      if (events[i].events & (EPOLLERR | EPOLLHUP)) mask |= CURL_CSELECT_ERR;
      curl_multi_socket_action(multi, events[i].data.fd, mask, &running);
    }
  }
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));)
    if (message->msg == CURLMSG_DONE && message->data.result != CURLE_OK)
      die(curl_easy_strerror(message->data.result));
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_multi_remove_handle(multi, easy);
  if (status != 200) die(answer.text);
}

static CURL *make_handle(const char *url, const char *ca_file) {
  CURL *easy = curl_easy_init();
  if (!easy) die("no memory");
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "fleet-locationd/0.2.0");
  if (strcmp(ca_file, "-") != 0) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
  }
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 45L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 15000L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_connect);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  return easy;
}

int main(int argc, char **argv) {
  if (argc != 5) die("usage: yardstick TOKEN-URL UPDATE-URL CA-FILE COUNT");
  int count = atoi(argv[4]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  multi = curl_multi_init();
  if (!multi || epoll_fd < 0) die("no memory");
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);

  CURL *easy = make_handle(argv[1], argv[3]);
  perform(easy);
  curl_easy_cleanup(easy);
  static char authorization[8192];
  char *token = strstr(answer.text, "\"token\":\"");
  if (!token || sscanf(token + 9, "%8000[^\"]", authorization + 32) != 1) die("no token in the response");
  static const char scheme[] = "Authorization: Bearer ";
  char *line = authorization + 32 - (sizeof scheme - 1);
  memcpy(line, scheme, sizeof scheme - 1);
  struct curl_slist *headers = curl_slist_append(NULL, line);
  headers = curl_slist_append(headers, "Content-Type: application/json");
  headers = curl_slist_append(headers, "X-Goog-FieldMask: name");

  easy = make_handle(argv[2], argv[3]);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PATCH");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  size_t body_bytes = 0;
  for (int second = 0; second < count; second++) {
    char body[512];
    time_t now = 1795248000 + second;
    struct tm tm;
    gmtime_r(&now, &tm);
    int size = snprintf(
      body, sizeof body,
      "{\"lastLocation\":{\"altitude\":%.1f,\"altitudeAccuracy\":5.5,\"heading\":%d,\"speed\":%.2f,"
      "\"supplementalLocation\":{\"latitude\":%.7f,\"longitude\":%.7f},\"supplementalLocationAccuracy\":4,"
      "\"supplementalLocationSensor\":\"CUSTOMER_SUPPLIED_LOCATION\","
      "\"supplementalLocationTime\":\"%04d-%02d-%02dT%02d:%02d:%02dZ\"}}",
      71.4 + 5 * sin(second / 200.0), 60 + second % 30, 14 + 3 * sin(second / 40.0), 52.5 + second * 4.1e-5,
      13.4 + second * 1.5e-4, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    body_bytes += (size_t)size;
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
    perform(easy);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("{\"updates\": %d, \"body_bytes\": %zu, \"user_seconds\": %ld.%06ld, \"system_seconds\": %ld.%06ld}\n", count,
         body_bytes, (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec, (long)usage.ru_stime.tv_sec,
         (long)usage.ru_stime.tv_usec);
  curl_easy_cleanup(easy);
  curl_slist_free_all(headers);
  curl_multi_cleanup(multi);
  curl_global_cleanup();
  return 0;
}
