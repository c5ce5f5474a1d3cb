#include "relay/served_file.hpp"

#include <unistd.h>

#include <system_error>

#include "os/clock.hpp"
#include "os/futex.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::relay {
namespace {

// A fast writer is not asked to wake us for each step.
constexpr std::uint64_t pause_between_wakes_ns = 50'000;

}  // namespace

Result<std::unique_ptr<PublicationWatch>> PublicationWatch::open(wire::SeriesPublished& control,
                                                                 const os::Descriptor& bell) {
  std::unique_ptr<PublicationWatch> watch(new PublicationWatch(control, bell));
  try {
    watch->thread_ = std::thread([self = watch.get()] { self->run(); });
  } catch (const std::system_error& error) {  // a limit of threads or of memory
    return fail(Code::limit, "cannot start a thread that watches a series: {}", error.code().message());
  }
  return watch;
}

PublicationWatch::~PublicationWatch() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  control_.word.fetch_add(1, std::memory_order_release);  // also where it is about to sleep
  os::futex_wake(control_.word);
  thread_.join();
}

void PublicationWatch::ask(std::uint64_t target) {
  {
    const std::lock_guard lock(mutex_);
    if (target_ == target) {
      return;
    }
    target_ = target;
  }
  changed_.notify_one();
}

// True: it is there.
bool PublicationWatch::sleep(std::uint64_t target) {
  while (!stop_) {
    const auto word = series::prepare_sleep(control_, target);
    if (!word || stop_) {
      return !word;
    }
    os::futex_wait(control_.word, *word, os::never);
  }
  return false;
}

void PublicationWatch::run() {
  for (;;) {
    std::uint64_t target = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || target_ != 0; });
      if (stop_) {
        return;
      }
      target = target_;
    }
    if (!sleep(target)) {
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      if (target_ == target) {
        target_ = 0;
      }
    }
    const std::uint64_t one = 1;
    static_cast<void>(!::write(bell_.number(), &one, sizeof one));
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause_between_wakes_ns));
  }
}

}  // namespace couplet::relay
