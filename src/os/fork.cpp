#include "os/fork.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "os/descriptor.hpp"

namespace couplet::os {
namespace detail {
std::atomic<std::uint64_t> fork_generation_word{0};
}

namespace {

// A fork concerns the whole process, with all its universes. So this list is the one global variable of the library.
struct OpenDescriptors {
  std::mutex mutex;
  std::vector<int> numbers;
};

OpenDescriptors& open_descriptors() {
  // It is never destroyed, because the handlers may run late.
  static auto* list = new OpenDescriptors;
  return *list;
}

void before_fork() {
  open_descriptors().mutex.lock();
}
void after_fork_in_parent() {
  open_descriptors().mutex.unlock();
}
void after_fork_in_child() {
  auto& list = open_descriptors();
  for (const int number : list.numbers) {
    ::close(number);
  }
  list.numbers.clear();
  detail::fork_generation_word.fetch_add(1, std::memory_order_relaxed);
  list.mutex.unlock();
}

void enlist(int number) {
  auto& list = open_descriptors();
  const std::lock_guard guard(list.mutex);
  list.numbers.push_back(number);
}

// Removes the number from the list. It is also closed under the mutex, so that no fork comes in between.
void delist(int number, bool close_it) noexcept {
  auto& list = open_descriptors();
  const std::lock_guard guard(list.mutex);
  const auto place = std::find(list.numbers.begin(), list.numbers.end(), number);
  if (place != list.numbers.end()) {
    *place = list.numbers.back();
    list.numbers.pop_back();
  }
  if (close_it) {
    ::close(number);
  }
}

}  // namespace

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] {
    open_descriptors();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  });
}

Descriptor::Descriptor(int number) : number_(number), generation_(fork_generation()) {
  if (number_ >= 0) {  // otherwise errno stays as the failed call left it
    watch_forks();
    enlist(number_);
  }
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = std::exchange(other.number_, -1);
    generation_ = other.generation_;
  }
  return *this;
}

bool Descriptor::mine() const noexcept {
  return number_ >= 0 && generation_ == fork_generation();
}

void Descriptor::close() noexcept {
  if (mine()) {
    delist(number_, true);
  }
  number_ = -1;
}

int Descriptor::release() noexcept {
  if (mine()) {
    delist(number_, false);
  }
  return std::exchange(number_, -1);
}

}  // namespace couplet::os
