#include "task/area_writers.hpp"

#include <utility>

#include "os/clock.hpp"
#include "os/futex.hpp"

namespace couplet::task {
namespace {

constexpr std::uint64_t writer_nap_ns = 1'000'000;  // time between two checks whether a writer has ended

void wake_all(wire::AreaHeaderImage& page) {
  page.word.fetch_add(1, std::memory_order_release);
  os::futex_wake(page.word);
}

}  // namespace

AreaWriters::Entry::Entry(Entry&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)), number_(other.number_) {}

AreaWriters::Entry::~Entry() {
  if (page_ == nullptr) {
    return;
  }
  page_->writers[number_].store(0, std::memory_order_seq_cst);
  if (page_->closed.load(std::memory_order_seq_cst) != 0) {
    wake_all(*page_);  // the owner waits for this
  }
}

std::uint64_t AreaWriters::own_mark() const noexcept {
  return wire::area_mark(environment_.self(), environment_.incarnation(environment_.self()));
}

Status AreaWriters::lives(std::uint64_t mark, channel::PeerId owner) const {
  const auto rank = static_cast<channel::PeerId>(wire::area_mark_rank(mark));
  const auto newest = environment_.incarnation(rank);
  const auto behind = (newest - wire::area_mark_incarnation(mark)) & wire::area_incarnation_mask;
  if (behind > wire::area_incarnation_mask / 2) {
    return {};  // this incarnation is later than the last one that the hub has reported
  }
  // Only the owner keeps an area for longer than a call, so this process's own mark in another's area is a remnant.
  if (behind != 0 || (rank == environment_.self() && owner != rank)) {
    return fail(Code::peer_lost, "an earlier incarnation of {} has ended", environment_.peer_name(rank));
  }
  return rank == environment_.self() ? Status() : environment_.alive(rank, newest);
}

Result<AreaWriters::Entry> AreaWriters::enter(wire::AreaHeaderImage& page, channel::PeerId owner) const {
  const std::uint64_t mark = own_mark();
  const std::size_t first = environment_.self() % wire::area_writer_entries;
  for (const bool take_over : {false, true}) {
    for (std::size_t at = 0; at < wire::area_writer_entries; ++at) {
      const std::size_t number = (first + at) % wire::area_writer_entries;
      auto& entry = page.writers[number];
      std::uint64_t there = entry.load(std::memory_order_relaxed);
      if (there != 0 && (!take_over || lives(there, owner).ok())) {
        continue;
      }
      if (entry.compare_exchange_strong(there, mark, std::memory_order_seq_cst)) {
        return Entry(page, number);
      }
    }
  }
  return Code::not_yet;
}

std::uint64_t AreaWriters::find_writer(const wire::AreaHeaderImage& page) const {
  for (const auto& entry : page.writers) {
    const std::uint64_t mark = entry.load(std::memory_order_seq_cst);
    if (mark != 0 && mark != own_mark() && lives(mark, environment_.self()).ok()) {
      return mark;
    }
  }
  return 0;
}

Status AreaWriters::close(wire::AreaHeaderImage& page, bool memory, std::uint64_t max_wait_ns,
                          const std::string& title) const {
  page.closed.store(1, std::memory_order_seq_cst);
  wake_all(page);  // those that wait for the end of another's write
  const std::uint64_t start_ns = os::now_ns();
  while (memory) {
    const std::uint32_t word = page.word.load(std::memory_order_acquire);
    const std::uint64_t mark = find_writer(page);
    if (mark == 0) {
      break;
    }
    if (os::now_ns() - start_ns >= max_wait_ns) {
      return fail(Code::timeout, "{}: {} is still writing to it after {:.1f} s, so the owner's memory may still change",
                  title, environment_.peer_name(wire::area_mark_rank(mark)), static_cast<double>(max_wait_ns) * 1e-9);
    }
    environment_.engine().sleep_elsewhere([&] { os::futex_wait(page.word, word, writer_nap_ns); });
  }
  return {};
}

}  // namespace couplet::task
