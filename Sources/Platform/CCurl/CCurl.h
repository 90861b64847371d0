// SPDX-License-Identifier: Apache-2.0
// libcurl's options are variadic, and macros check their types in C alone: one typed function for each kind of
// option, without logic. The last two reach what libcurl hands to its callbacks.
#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdint.h>

static inline CURLcode fleet_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode fleet_easy_set_offset(CURL *easy, CURLoption option, int64_t value) {
  return curl_easy_setopt(easy, option, (curl_off_t)value);
}
static inline CURLcode fleet_easy_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode fleet_easy_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode fleet_easy_set_receiver(CURL *easy, CURLoption option, curl_write_callback value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode fleet_easy_set_socket_callback(CURL *easy, curl_sockopt_callback value) {
  return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, value);
}
static inline CURLcode fleet_easy_set_tls_callback(CURL *easy, curl_ssl_ctx_callback value) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value);
}

static inline CURLcode fleet_easy_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode fleet_easy_get_offset(CURL *easy, CURLINFO info, int64_t *value) {
  curl_off_t offset = 0;
  CURLcode code = curl_easy_getinfo(easy, info, &offset);
  *value = offset;
  return code;
}

static inline CURLMcode fleet_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode fleet_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode fleet_multi_set_socket_callback(CURLM *multi, curl_socket_callback value) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}
static inline CURLMcode fleet_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback value) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}

/// How long sent bytes may stay unacknowledged before the kernel gives the connection up, in milliseconds.
static inline int fleet_socket_set_user_timeout(int socket, unsigned milliseconds) {
  return setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

/// The time at which an SSL_CTX judges certificates, in seconds since 1970.
static inline void fleet_tls_set_time(void *context, int64_t seconds) {
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param((SSL_CTX *)context), (time_t)seconds);
}
