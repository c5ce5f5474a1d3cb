// The processes that write an area, by their marks: which one has put its mark into the page of the area, whether it
// still lives, and which ones are in the middle of a copy into the owner's own memory. Area uses it; it uses the area's
// page (wire/area_format.hpp) and the liveness of processes (Environment).
// Invariant: a process copies into the owner's memory only between enter() and the end of its entry, and only if the
// area was not closed after enter(). An owner that has set `closed` and then finds no living writer in the page may use
// the memory for something else. Both sides use sequentially consistent operations, so that one of them sees the other.
// Tests: tests/unit/task/area_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "task/environment.hpp"
#include "wire/area_format.hpp"

namespace couplet::task {

class AreaWriters {
 public:
  // This process's entry among the writers of the owner's memory. It ends with the object.
  class Entry {
   public:
    Entry() = default;
    Entry(wire::AreaHeaderImage& page, std::size_t number) : page_(&page), number_(number) {}
    Entry(Entry&& other) noexcept;
    Entry& operator=(Entry&&) = delete;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();

   private:
    wire::AreaHeaderImage* page_ = nullptr;
    std::size_t number_ = 0;
  };

  explicit AreaWriters(Environment& environment) : environment_(environment) {}

  // Returns the mark of this process.
  [[nodiscard]] std::uint64_t own_mark() const noexcept;
  // Returns peer_lost if the process that has put this mark into the page of an area of `owner` has died, or has been
  // started again since.
  [[nodiscard]] Status lives(std::uint64_t mark, channel::PeerId owner) const;
  // Puts this process among the writers of the owner's memory. Returns not_yet if all entries are in use by living
  // processes. Never blocks.
  [[nodiscard]] Result<Entry> enter(wire::AreaHeaderImage& page, channel::PeerId owner) const;
  // Marks this process's area as closed. If `memory` is set, the others write directly into memory of this process:
  // then waits, for at most max_wait_ns, until none of them is writing. Returns timeout, with the name of the process
  // that is still writing.
  Status close(wire::AreaHeaderImage& page, bool memory, std::uint64_t max_wait_ns, const std::string& title) const;

 private:
  // Returns the mark of a living process that is writing into this process's memory, or 0.
  [[nodiscard]] std::uint64_t find_writer(const wire::AreaHeaderImage& page) const;

  Environment& environment_;
};

}  // namespace couplet::task
