// SPDX-License-Identifier: Apache-2.0
// A C interface to toml++: it parses a text and walks the resulting tree. It contains no logic of its own.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctoml_document ctoml_document;
typedef struct ctoml_node ctoml_node;

typedef enum ctoml_type {
  CTOML_TABLE,
  CTOML_ARRAY,
  CTOML_STRING,
  CTOML_INTEGER,
  CTOML_FLOAT,
  CTOML_BOOLEAN,
  // A date, a time of day, or both.
  CTOML_DATE_TIME,
} ctoml_type;

// Both count from 1, columns in characters; 0: unknown.
typedef struct ctoml_position {
  uint32_t line;
  uint32_t column;
} ctoml_position;

// Not terminated; may contain zero bytes. Lives as long as its document.
typedef struct ctoml_text {
  const char *bytes;
  size_t length;
} ctoml_text;

typedef struct ctoml_error {
  ctoml_position position;
  // Terminated; truncated if it is too long, possibly inside a character.
  char description[256];
} ctoml_error;

// Null if the text is not TOML: `error` says why.
ctoml_document *ctoml_parse(const char *text, size_t length, ctoml_error *error);
void ctoml_free(ctoml_document *document);

// Nodes live as long as their document.
const ctoml_node *ctoml_root(const ctoml_document *document);
ctoml_type ctoml_node_type(const ctoml_node *node);
ctoml_position ctoml_node_position(const ctoml_node *node);

// Zero, false or empty if the node is of another type.
ctoml_text ctoml_string_value(const ctoml_node *node);
int64_t ctoml_integer_value(const ctoml_node *node);
double ctoml_float_value(const ctoml_node *node);
bool ctoml_boolean_value(const ctoml_node *node);

typedef void (*ctoml_visit_member)(
    void *context, ctoml_text key, ctoml_position key_position, const ctoml_node *value);
typedef void (*ctoml_visit_element)(void *context, const ctoml_node *value);

// In the order of the keys; nothing if the node is not a table.
void ctoml_each_member(const ctoml_node *node, void *context, ctoml_visit_member visit);
// In the order of the text; nothing if the node is not an array.
void ctoml_each_element(const ctoml_node *node, void *context, ctoml_visit_element visit);

#ifdef __cplusplus
}
#endif
