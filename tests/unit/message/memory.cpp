#include "memory.hpp"

#include <cstdlib>
#include <new>

namespace couplet::test {
namespace {

std::atomic<std::uint64_t> allocations{0};
thread_local FailingAllocation* armed = nullptr;
std::atomic<bool> none_elsewhere{false};
thread_local bool here = false;

}  // namespace

std::uint64_t allocation_count() noexcept {
  return allocations.load(std::memory_order_relaxed);
}

Armed::Armed(FailingAllocation& failing) noexcept : previous_(armed) {
  armed = &failing;
}

Armed::~Armed() {
  armed = previous_;
}

NoMemoryElsewhere::NoMemoryElsewhere() noexcept {
  here = true;
  none_elsewhere = true;
}

NoMemoryElsewhere::~NoMemoryElsewhere() {
  none_elsewhere = false;
  here = false;
}

static void* allocate(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (none_elsewhere.load(std::memory_order_relaxed) && !here) throw std::bad_alloc();
  if (armed != nullptr && ++armed->seen == armed->number) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace couplet::test

// Not inlined: GCC takes an inlined half of the pair for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return couplet::test::allocate(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return couplet::test::allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
