// SPDX-License-Identifier: Apache-2.0
// libcurl's options are variadic, and macros check their types only in C: here is one typed function for each kind of
// option, without logic. The last two functions reach what libcurl passes to its callbacks.
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
static inline CURLcode fleet_easy_set_open_callback(CURL *easy, curl_opensocket_callback value) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}
static inline CURLcode fleet_easy_set_close_callback(CURL *easy, curl_closesocket_callback value) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, value);
}
static inline CURLcode fleet_easy_set_request_callback(CURL *easy, curl_prereq_callback value) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}
static inline CURLcode fleet_easy_set_tls_callback(CURL *easy, curl_ssl_ctx_callback value) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value);
}

static inline CURLcode fleet_easy_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline int fleet_easy_get_socket(CURL *easy) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK ? socket : CURL_SOCKET_BAD;
}
static inline CURLcode fleet_easy_get_offset(CURL *easy, CURLINFO info, int64_t *value) {
  curl_off_t offset = 0;
  CURLcode code = curl_easy_getinfo(easy, info, &offset);
  *value = offset;
  return code;
}

// CURLMOPT_QUICK_EXIT of libcurl 8.20, which Debian's headers do not have yet.
static const CURLMoption fleet_multi_quick_exit = (CURLMoption)21;

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

/// Sets how long sent data may remain unacknowledged before the kernel closes the connection, in milliseconds.
static inline int fleet_socket_set_user_timeout(int socket, unsigned milliseconds) {
  return setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

/// Makes closing the socket reset the connection: the kernel then discards data that it has not sent, or that has not
/// been acknowledged.
static inline int fleet_socket_discard_unsent(int socket) {
  struct linger none = {1, 0};
  return setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

/// Sets the time at which an SSL_CTX verifies certificates, in seconds since 1970.
static inline void fleet_tls_set_time(void *context, int64_t seconds) {
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param((SSL_CTX *)context), (time_t)seconds);
}

/// Offers HTTP/2, and also HTTP/1.1, because a server without HTTP/2 would otherwise reject the handshake.
static inline int fleet_tls_offer_http2(void *context) {
  return SSL_CTX_set_alpn_protos((SSL_CTX *)context, (const unsigned char *)"\x02h2\x08http/1.1", 12);
}
/// Reads whole records, and allows the unsent rest of a write to be sent from another buffer with more data appended.
/// Disables renegotiation (TLS 1.2): with it, a write might have to wait for readable data, and the loop does not do
/// that.
static inline void fleet_tls_set_modes(void *context) {
  SSL_CTX_set_read_ahead((SSL_CTX *)context, 1);
  SSL_CTX_set_mode((SSL_CTX *)context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options((SSL_CTX *)context, SSL_OP_NO_RENEGOTIATION);
}
static inline void fleet_tls_set_message_callback(
    void *context, void *owner,
    void (*report)(int is_write, int version, int type, const void *bytes, size_t count, SSL *ssl, void *owner)) {
  SSL_CTX_set_msg_callback((SSL_CTX *)context, report);
  SSL_CTX_set_msg_callback_arg((SSL_CTX *)context, owner);
}
/// A slot for `owner` in every SSL_CTX; to be requested once per process.
static inline int fleet_tls_owner_slot(void) {
  return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}
static inline int fleet_tls_set_owner(void *context, int slot, void *owner, void (*watch)(const SSL *, int, int)) {
  SSL_CTX_set_info_callback((SSL_CTX *)context, watch);
  return SSL_CTX_set_ex_data((SSL_CTX *)context, slot, owner);
}
static inline void *fleet_tls_owner(const SSL *ssl, int slot) {
  return SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot);
}
/// Sets the key exchanges of a handshake that resumes a session to those that OpenSSL 3.0 offers by default: 3.5 would
/// send a key share of X25519MLKEM768, 1.2 kB, and get 1.1 kB back (docs/threat-model.md).
static inline void fleet_tls_set_resumed_groups(SSL *ssl) {
  SSL_set1_groups_list(ssl, "X25519:P-256:X448:P-521:P-384");
}
/// Whether the server chose HTTP/2.
static inline int fleet_tls_has_http2(const SSL *ssl) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl, &name, &length);
  return length == 2 && name[0] == 'h' && name[1] == '2';
}
