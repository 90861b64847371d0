// SPDX-License-Identifier: Apache-2.0
// Reports the place of a crash from within the crash: allocates no memory, takes no lock, and prints nothing from the
// program's memory except code addresses. _dl_find_object (glibc 2.35), and the unwinder of GCC 12 that uses it, take
// no lock either.
#define _GNU_SOURCE
#include "CLinux.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { CALLERS = 40, SECONDS = 3 };

static char stack[64 * 1024];
static char text[4096];
static size_t length;
static char program[64], version[64], build_id[41], note[256];
static bool has_priority;
static int crashed_by;
static volatile sig_atomic_t is_published;

static void put(const char *part) {
  while (*part != 0 && length < sizeof text - 2) text[length++] = *part++;
}

static void put_number(uint64_t number, unsigned base) {
  char digits[24];
  size_t at = sizeof digits;
  digits[--at] = 0;
  do digits[--at] = "0123456789abcdef"[number % base];
  while ((number /= base) > 0);
  put(digits + at);
}

/// Appends an address as in `libcurl.so.4+0x1a2b`: the one in debugging symbols, independent of where the file is
/// mapped.
static void put_address(uintptr_t address) {
  struct dl_find_object object;
  if (_dl_find_object((void *)address, &object) != 0 || object.dlfo_link_map == NULL) {
    put("code that is in no file");
    return;
  }
  const char *path = object.dlfo_link_map->l_name;
  const char *slash = path == NULL ? NULL : strrchr(path, '/');
  put(path == NULL || *path == 0 ? program : slash == NULL ? path : slash + 1);
  put("+0x");
  put_number(address - (uintptr_t)object.dlfo_link_map->l_addr, 16);
}

static uintptr_t program_counter(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (uintptr_t)context->uc_mcontext.pc;
#else
#error "Where is the program counter of this architecture?"
#endif
}

struct walk {
  uintptr_t from;
  bool is_past_handler;
  int callers;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *frame, void *argument) {
  struct walk *walk = argument;
  int is_instruction = 0;
  uintptr_t address = _Unwind_GetIPInfo(frame, &is_instruction);
  if (!walk->is_past_handler) {
    walk->is_past_handler = address == walk->from;
    return _URC_NO_REASON;
  }
  if (address == 0 || walk->callers == CALLERS) return _URC_END_OF_STACK;
  put(walk->callers++ == 0 ? "; called from " : ", ");
  // The address of the call instruction, not the return address.
  put_address(is_instruction ? address : address - 1);
  return _URC_NO_REASON;
}

static void put_signal(int number, const siginfo_t *info) {
  const char *name = "a signal", *meaning = "";
  switch (number) {
  case SIGILL: name = "SIGILL", meaning = "a check in the program failed"; break;
  case SIGTRAP: name = "SIGTRAP", meaning = "a check in the program failed"; break;
  case SIGSEGV: name = "SIGSEGV", meaning = "unmapped memory"; break;
  case SIGBUS: name = "SIGBUS", meaning = "memory that cannot be had"; break;
  case SIGFPE: name = "SIGFPE", meaning = "arithmetic that cannot be done"; break;
  case SIGABRT: name = "SIGABRT", meaning = "the program gave up"; break;
  }
  put(name);
  put(" (");
  if (info->si_code <= 0 && info->si_pid != getpid()) {
    put("sent by process ");
    put_number((uint64_t)info->si_pid, 10);
    if (number == SIGABRT && info->si_pid == 1) put(", as systemd does when the watchdog was not fed");
  } else {
    put(meaning);
  }
  put(")");
}

/// Ends the process as it would end without a report: systemd sees the signal.
static void end(int number) {
  sigset_t set;
  signal(number, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, number);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  raise(number);
  _exit(128 + number);
}

static void publish(void) {
  is_published = 1;
  int file = note[0] == 0 ? -1 : open(note, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0) {
    ssize_t written = write(file, text, length);
    (void)written;
    close(file);
  }
  text[length++] = '\n';
  // Writing to standard error may block; the alarm is already set.
  const char *head = has_priority ? "<2>Crashed: " : "Crashed: ";
  char line[sizeof text + 16];
  size_t size = strlen(head);
  memcpy(line, head, size);
  memcpy(line + size, text, length);
  ssize_t written = write(STDERR_FILENO, line, size + length);
  (void)written;
}

static void report(int number, siginfo_t *info, void *context) {
  int first = 0;
  if (!__atomic_compare_exchange_n(&crashed_by, &first, number, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    // The report itself crashed or timed out: end it with what is known, if it can be written.
    if (!is_published) {
      put("; no more is known");
      publish();
    }
    end(first);
  }
  struct sigaction lateness = {.sa_sigaction = report, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigaction(SIGALRM, &lateness, NULL);
  alarm(SECONDS);
  put_signal(number, info);
  put(" at ");
  struct walk walk = {.from = program_counter(context)};
  put_address(walk.from);
  put(" of version ");
  put(version);
  put(", build ID ");
  put(build_id);
  _Unwind_Backtrace(visit, &walk);
  publish();
  end(number);
}

static int find_build_id(struct dl_phdr_info *object, size_t size, void *unused) {
  (void)size, (void)unused;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &object->dlpi_phdr[index];
    if (header->p_type != PT_NOTE) continue;
    const char *at = (const char *)(object->dlpi_addr + header->p_vaddr), *limit = at + header->p_memsz;
    while (limit - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) entry;
      memcpy(&entry, at, sizeof entry);
      const char *name = at + sizeof entry;
      const char *content = name + ((entry.n_namesz + 3u) & ~3u);
      if (content > limit || (size_t)(limit - content) < entry.n_descsz) break;
      if (entry.n_type == NT_GNU_BUILD_ID && entry.n_namesz == 4 && memcmp(name, "GNU", 4) == 0 && entry.n_descsz == 20) {
        for (int byte = 0; byte < 20; byte++) {
          build_id[byte * 2] = "0123456789abcdef"[(unsigned char)content[byte] >> 4];
          build_id[byte * 2 + 1] = "0123456789abcdef"[content[byte] & 15];
        }
        return 1;
      }
      at = content + ((entry.n_descsz + 3u) & ~3u);
    }
  }
  // The first object is the program itself.
  return 1;
}

static _Unwind_Reason_Code stop(struct _Unwind_Context *frame, void *unused) {
  (void)frame, (void)unused;
  return _URC_END_OF_STACK;
}

void fleet_crash_report_install(
  const char *program_name, const char *program_version, const char *note_path, bool tells_priority) {
  strncpy(program, program_name, sizeof program - 1);
  strncpy(version, program_version, sizeof version - 1);
  // A path that does not fit is ignored.
  if (note_path != NULL && strlen(note_path) < sizeof note) strcpy(note, note_path);
  has_priority = tells_priority;
  strcpy(build_id, "unknown");
  dl_iterate_phdr(find_build_id, NULL);
  // Symbols that the dynamic linker resolves lazily are resolved now.
  _Unwind_Backtrace(stop, NULL);

  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  static const int signals[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
  for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) {
    struct sigaction before, action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    // Existing handlers, of a sanitizer or of Swift's own reporter, are left in place.
    if (sigaction(signals[index], NULL, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    sigaction(signals[index], &action, NULL);
  }
}
