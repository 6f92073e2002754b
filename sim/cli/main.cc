// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "sim/cli/interrupt.h"
#include "sim/cli/session.h"
#include "sim/cli/terminal.h"

extern "C" int sc_main(int, char**) { return 0; }  // libsystemc leaves it undefined

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
namespace {

// A replay writes several MiB of heap, buffers of one MiB among them, and is over: memory that is taken in huge pages,
// and not given back in between, saves nine tenths of its page faults.
void PrepareHeap(int, char**, char**) {
  constexpr std::uintptr_t kRoom = 16u << 20, kHugePage = 2u << 20;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // glibc takes no more
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, kRoom);
  void* volatile first = std::malloc(1);  // makes the heap
  std::free(first);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t begin = (end - kRoom + kHugePage - 1) / kHugePage * kHugePage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}
// Before any library is initialised: libsystemc writes 3 MiB then.
__attribute__((section(".preinit_array"), used)) void (*const kPrepareHeap)(int, char**, char**) = PrepareHeap;

}  // namespace
#endif

int main(int argc, char** argv) {
  spillway::cli::PrepareStandardStreams();
  spillway::cli::HandleInterrupts();
  return spillway::cli::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
