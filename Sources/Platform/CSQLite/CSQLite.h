#pragma once
#include <sqlite3.h>
#include <stddef.h>

// SQLITE_TRANSIENT makes SQLite copy the text. It is a macro with a cast, which Swift cannot import.
static inline int fleet_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

/// Reads bytes of the database file (`which` is SQLITE_FCNTL_FILE_POINTER) or of its log (SQLITE_FCNTL_JOURNAL_POINTER)
/// through SQLite's own descriptor: closing another descriptor would drop SQLite's locks. Bytes after the end of the
/// file are zero.
static inline int fleet_sqlite_read_file(sqlite3 *database, int which, void *bytes, int count) {
  sqlite3_file *file = NULL;
  int code = sqlite3_file_control(database, NULL, which, &file);
  if (code != SQLITE_OK || file == NULL || file->pMethods == NULL) return SQLITE_NOTFOUND;
  return file->pMethods->xRead(file, bytes, count, 0);
}
