// SPDX-License-Identifier: Apache-2.0
#include "CTOML.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <toml++/toml.h>

// A ctoml_node is a toml::node by another name: only pointers are ever made of it.
struct ctoml_document {
  toml::table root;
};

namespace {

const toml::node &real(const ctoml_node *node) { return *reinterpret_cast<const toml::node *>(node); }

const ctoml_node *opaque(const toml::node &node) { return reinterpret_cast<const ctoml_node *>(&node); }

ctoml_position position(const toml::source_position &position) { return {position.line, position.column}; }

}  // namespace

ctoml_document *ctoml_parse(const char *text, size_t length, ctoml_error *error) {
  toml::parse_result result = toml::parse(std::string_view{text, length});
  if (result) return new ctoml_document{std::move(result).table()};
  const std::string_view description = result.error().description();
  const size_t kept = std::min(description.size(), sizeof error->description - 1);
  std::memcpy(error->description, description.data(), kept);
  error->description[kept] = '\0';
  error->position = position(result.error().source().begin);
  return nullptr;
}

void ctoml_free(ctoml_document *document) { delete document; }

const ctoml_node *ctoml_root(const ctoml_document *document) { return opaque(document->root); }

ctoml_type ctoml_node_type(const ctoml_node *node) {
  switch (real(node).type()) {
    case toml::node_type::table: return CTOML_TABLE;
    case toml::node_type::array: return CTOML_ARRAY;
    case toml::node_type::string: return CTOML_STRING;
    case toml::node_type::integer: return CTOML_INTEGER;
    case toml::node_type::floating_point: return CTOML_FLOAT;
    case toml::node_type::boolean: return CTOML_BOOLEAN;
    default: return CTOML_DATE_TIME;
  }
}

ctoml_position ctoml_node_position(const ctoml_node *node) { return position(real(node).source().begin); }

ctoml_text ctoml_string_value(const ctoml_node *node) {
  const auto *value = real(node).as_string();
  return value ? ctoml_text{value->get().data(), value->get().size()} : ctoml_text{"", 0};
}

int64_t ctoml_integer_value(const ctoml_node *node) {
  const auto *value = real(node).as_integer();
  return value ? value->get() : 0;
}

double ctoml_float_value(const ctoml_node *node) {
  const auto *value = real(node).as_floating_point();
  return value ? value->get() : 0;
}

bool ctoml_boolean_value(const ctoml_node *node) {
  const auto *value = real(node).as_boolean();
  return value && value->get();
}

void ctoml_each_member(const ctoml_node *node, void *context, ctoml_visit_member visit) {
  const auto *table = real(node).as_table();
  if (!table) return;
  for (const auto &[key, value] : *table) {
    visit(context, {key.str().data(), key.str().size()}, position(key.source().begin), opaque(value));
  }
}

void ctoml_each_element(const ctoml_node *node, void *context, ctoml_visit_element visit) {
  const auto *array = real(node).as_array();
  if (!array) return;
  for (const auto &value : *array) visit(context, opaque(value));
}
