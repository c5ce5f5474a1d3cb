#include "series/publication_watch.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "series/slot_protocol.hpp"
#include "series/waiting.hpp"

namespace couplet::series {
namespace {

// The pause after a ring, so that a fast writer does not have to wake this thread for each step.
constexpr std::uint64_t pause_between_wakes_ns = 50'000;
// The longest sleep, since a reader that should pass on a wake-up may die before it does.
constexpr std::uint64_t slice_ns = 50'000'000;
constexpr std::uint64_t idle_slice_ns = 60'000'000'000;  // the longest sleep if nothing is waited for
// If there are more files than the kernel can sleep on at once, the others are checked that often.
constexpr std::uint64_t slice_of_many_ns = 1'000'000;
constexpr std::uint64_t nap_without_memory_ns = 10'000'000;

// Blocks all signals in a scope. A thread that is started there never takes a signal away from the user's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::unique_ptr<PublicationWatch>> PublicationWatch::open(const os::Descriptor& bell) {
  std::unique_ptr<PublicationWatch> watch(new PublicationWatch(bell));
  try {
    const SignalsBlocked blocked;
    watch->thread_ = std::thread([self = watch.get()] { self->run(); });
    // This happens at a limit of threads or of memory.
  } catch (const std::system_error& error) {
    return fail(Code::limit, "cannot start the thread that watches series: {}", error.code().message());
  }
  return watch;
}

PublicationWatch::~PublicationWatch() {
  if (!thread_.joinable()) {
    return;
  }
  stop_ = true;
  changed_.fetch_add(1, std::memory_order_release);
  os::futex_wake(changed_);
  thread_.join();
}

void PublicationWatch::ask(const std::shared_ptr<SeriesFile>& file, std::uint64_t target) {
  {
    const std::lock_guard lock(mutex_);
    Wanted& one = wanted_[file.get()];
    if (one.file && one.target <= target) {
      return;
    }
    one = {file, target};
  }
  changed_.fetch_add(1, std::memory_order_release);
  os::futex_wake(changed_);
}

bool PublicationWatch::look() {
  // These files are unmapped after the lock is released, if they have no other owner.
  std::vector<std::shared_ptr<SeriesFile>> done;
  sleeps_.clear();
  words_.assign(1, {&changed_, changed_.load(std::memory_order_acquire)});
  bool rings = false;
  const std::lock_guard lock(mutex_);
  for (auto item = wanted_.begin(); item != wanted_.end();) {
    Wanted& one = item->second;
    const bool wanted = one.file.use_count() > 1;  // otherwise its last subscription has ended
    auto& control = one.file->control().published;
    const auto word = wanted ? prepare_sleep(control, one.target) : std::nullopt;
    if (word) {
      words_.push_back({&control.word, *word});
      sleeps_.push_back(one.file);
      ++item;
      continue;
    }
    rings = rings || wanted;
    done.push_back(std::move(one.file));
    item = wanted_.erase(item);
  }
  return rings;
}

void PublicationWatch::sleep() {
  const bool many = words_.size() > os::max_futex_waits;
  const std::uint64_t longest_ns = sleeps_.empty() ? idle_slice_ns : slice_ns;
  os::futex_wait_any(std::span(words_).first(std::min(words_.size(), os::max_futex_waits)),
                     many ? slice_of_many_ns : longest_ns);
  for (const auto& file : sleeps_) {
    pass_wake_on(file->control().published);
  }
}

void PublicationWatch::run() {
  while (!stop_) {
    try {
      if (!look()) {
        // It is read after `changed_`, so that the sleep below ends if it is set later.
        if (!stop_) {
          sleep();
        }
        continue;
      }
      ring();
      std::this_thread::sleep_for(std::chrono::nanoseconds(pause_between_wakes_ns));
    } catch (const std::bad_alloc&) {
      ring();  // no file is watched: the calls that wait look by themselves until there is memory again
      std::this_thread::sleep_for(std::chrono::nanoseconds(nap_without_memory_ns));
    }
  }
}

void PublicationWatch::ring() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(bell_.number(), &one, sizeof one));
}

}  // namespace couplet::series
