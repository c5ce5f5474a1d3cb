#include "task/area.hpp"

#include <algorithm>
#include <utility>

#include "base/types.hpp"
#include "layout/copy.hpp"
#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/process_memory.hpp"

namespace couplet::task {
namespace {

constexpr std::uint64_t nap_ns = 1'000'000;  // time between two checks of an area that another process writes
// Time between two checks whether the owner is alive, each of which is a system call.
constexpr std::uint64_t owner_look_ns = 100'000'000;

// Calls function(offset in the area, offset in the user's array, bytes) for each run.
template <typename Function>
void for_each_run(const layout::CopyPlan& plan, const Function& function) {
  std::array<std::uint64_t, layout::max_dimensions> at{};
  const std::uint64_t runs = plan.run_bytes == 0 ? 0 : plan.runs();
  for (std::uint64_t run = 0; run < runs; ++run) {
    std::uint64_t area = plan.source_offset;
    std::uint64_t local = plan.target_offset;
    for (int loop = 0; loop < plan.loop_count; ++loop) {
      const auto index = static_cast<std::size_t>(loop);
      area += at[index] * plan.loops[index].source_stride;
      local += at[index] * plan.loops[index].target_stride;
    }
    function(area, local, plan.run_bytes);
    for (int loop = plan.loop_count - 1; loop >= 0; --loop) {
      const auto index = static_cast<std::size_t>(loop);
      if (++at[index] < plan.loops[index].count) {
        break;
      }
      at[index] = 0;
    }
  }
}

layout::CopyPlan turned_round(layout::CopyPlan plan) {
  std::swap(plan.source_offset, plan.target_offset);
  for (auto& loop : plan.loops) {
    std::swap(loop.source_stride, loop.target_stride);
  }
  return plan;
}

Status only_for_its_owner(const std::string& title) {
  return fail(Code::state, "{}: only the owner of an area with stamps calls begin and end", title);
}

}  // namespace

const char* route_name(Route route) noexcept {
  switch (route) {
    case Route::own:
      return "own";
    case Route::mapped:
      return "mapped";
    case Route::memory:
      return "memory";
    case Route::served:
      break;
  }
  return "served";
}

Area::~Area() {
  static_cast<void>(close());
}

std::shared_ptr<const void> Area::keeper() const noexcept {
  const bool is_in_file = specification_.memory == nullptr && data_ != nullptr;
  return is_in_file ? file_ : nullptr;
}

std::string Area::title() const {
  return fmt::format("area '{}' of {}", specification_.name, areas_.mailbox_.environment().peer_name(owner_));
}

std::uint64_t Area::bytes() const noexcept {
  return layout::whole(specification_.shape).elements() * find_type(specification_.type)->element_bytes;
}

wire::AreaHeaderImage& Area::header() const noexcept {
  return wire::area_header(file_->data());
}

// The memory of a mapped area outlives its owner, so only a check of the owner's lock shows that it has died.
Status Area::usable() {
  if (closed_) {
    return fail(Code::state, "{} is closed", title());
  }
  if (route_ == Route::own) {
    return {};
  }
  if (const auto now = os::now_ns(); owner_lost_.ok() && now >= next_look_ns_) {
    next_look_ns_ = now + owner_look_ns;
    owner_lost_ = areas_.mailbox_.environment().alive(owner_, owner_incarnation_);
    if (!owner_lost_.ok() && file_) static_cast<void>(file_->remove());  // it could not do that itself
  }
  return owner_lost_.ok() ? unless_closed({}) : owner_lost_.within(fmt::format("{}: its owner is gone", title()));
}

// The fence orders the copy before this look. If the copy has met what the owner uses the memory for since, `closed` is
// set here.
Status Area::unless_closed(Status status) const {
  if (route_ == Route::own || !file_) {
    return status;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (header().closed.load(std::memory_order_seq_cst) != 0) {
    return fail(Code::not_found, "{}: its owner has closed it", title());
  }
  return status;
}

// Plans the copy: the source is the area, the target the user's array.
Result<layout::CopyPlan> Area::plan(const Part& part) const {
  const std::size_t element_bytes = find_type(specification_.type)->element_bytes;
  if (part.box) {
    COUPLET_TRY(layout::check_inside(*part.box, specification_.shape, title() + ": the box"));
    COUPLET_TRY(layout::box_bytes(*part.box, element_bytes).status());
    return layout::plan_copy(layout::whole(specification_.shape), *part.box, element_bytes);
  }
  const std::uint64_t elements = layout::whole(specification_.shape).elements();
  if (part.offset > elements || part.count > elements - part.offset) {
    return fail(Code::shape, "{}: {} elements from offset {} are outside it, it has {}", title(), part.count,
                part.offset, elements);
  }
  layout::CopyPlan plan;
  plan.run_bytes = part.count * element_bytes;
  plan.source_offset = part.offset * element_bytes;
  return plan;
}

Status Area::move(const layout::CopyPlan& plan, std::byte* local, bool writing) {
  if (route_ != Route::memory) {
    if (writing) {
      layout::copy_racing(turned_round(plan), data_, local, layout::CopyMethod::cached);
    } else {
      layout::copy_racing(plan, local, data_, layout::CopyMethod::cached);
    }
    return {};
  }
  std::vector<os::ProcessRun> runs;  // the user's array is contiguous, so the runs follow each other there
  for_each_run(plan, [&](std::uint64_t area, std::uint64_t /*local*/, std::uint64_t run_bytes) {
    runs.push_back({address_ + area, run_bytes});
  });
  const Status moved = writing ? memory_->write(runs, local) : memory_->read(runs, local);
  return moved.ok() ? moved : moved.within(title());
}

// ---- stamps: how often an area was written, and which process writes it ----

Status Area::lock() {
  auto& image = header();
  std::uint64_t stamp = image.stamp.load(std::memory_order_acquire);
  std::uint64_t count = wire::area_count(stamp);
  if (const std::uint64_t writer = wire::area_writer(stamp); writer != 0) {
    if (areas_.writers_.lives(writer, owner_).ok()) {
      return Code::not_yet;
    }
    // The stamp is taken over, so no process sees it free before this write has ended.
    ++count;
  }
  if (!image.stamp.compare_exchange_strong(stamp, wire::area_stamp(count, areas_.writers_.own_mark()),
                                           std::memory_order_acq_rel)) {
    return Code::not_yet;
  }
  std::atomic_thread_fence(std::memory_order_release);
  return {};
}

void Area::unlock() {
  auto& image = header();
  const std::uint64_t count = wire::area_count(image.stamp.load(std::memory_order_relaxed));
  image.stamp.store(wire::area_stamp(count + 1, 0), std::memory_order_release);
  image.word.fetch_add(1, std::memory_order_release);
  os::futex_wake(image.word);
}

Status Area::try_read(const layout::CopyPlan& plan, std::byte* data, std::uint64_t* stamp) {
  if (!specification_.stamped) {
    return move(plan, data, false);
  }
  auto& image = header();
  const std::uint64_t before = image.stamp.load(std::memory_order_acquire);
  if (wire::area_writer(before) != 0 && !writing_) {
    const auto mark = wire::area_writer(before);
    if (const auto lives = areas_.writers_.lives(mark, owner_); !lives.ok()) {
      const auto writer = areas_.mailbox_.environment().peer_name(wire::area_mark_rank(mark));
      return lives.within(fmt::format("{}: {} died while it wrote it", title(), writer));
    }
    return Code::not_yet;
  }
  COUPLET_TRY(move(plan, data, false));
  std::atomic_thread_fence(std::memory_order_acquire);
  if (image.stamp.load(std::memory_order_relaxed) != before) {
    return Code::not_yet;
  }
  if (stamp != nullptr) {
    *stamp = wire::area_count(before);
  }
  return {};
}

Status Area::try_write(const layout::CopyPlan& plan, const std::byte* data, std::uint64_t* stamp) {
  auto* const source = const_cast<std::byte*>(data);  // NOLINT: only read
  if (!specification_.stamped || writing_) {
    return move(plan, source, true);
  }
  COUPLET_TRY(lock());
  Status moved = move(plan, source, true);
  unlock();
  if (stamp != nullptr) {
    *stamp = wire::area_count(header().stamp.load(std::memory_order_relaxed));
  }
  return moved;
}

// The owner's memory is its own again once it has closed the area and found no writer. So a writer is seen there before
// it looks whether the area is closed.
Status Area::enter_and_write(const layout::CopyPlan& plan, const std::byte* data, std::uint64_t* stamp) {
  if (route_ != Route::memory) {
    return try_write(plan, data, stamp);
  }
  COUPLET_TRY_VALUE(const auto entry, areas_.writers_.enter(header(), owner_));
  COUPLET_TRY(unless_closed({}));
  return try_write(plan, data, stamp);
}

// Says which process has kept an attempt from its end until the timeout.
Status Area::still_written() const {
  const std::uint64_t mark = file_ ? wire::area_writer(header().stamp.load(std::memory_order_acquire)) : 0;
  if (mark == 0) {
    return fail(Code::timeout, "{}: other processes kept writing it until the timeout", title());
  }
  const channel::PeerId writer = wire::area_mark_rank(mark);
  if (writer != owner_) {
    return fail(Code::timeout, "{}: {} did not end its write until the timeout", title(),
                areas_.mailbox_.environment().peer_name(writer));
  }
  return fail(Code::timeout, "{}: its owner did not end its write until the timeout; after begin it must call end",
              title());
}

// Repeats the attempt until it returns another answer than not_yet. It sleeps on the stamp's word, and lets all other
// work go on.
Status Area::repeat(const std::function<Status()>& attempt, std::uint64_t deadline_ns) {
  for (;;) {
    const std::uint32_t word = file_ ? header().word.load(std::memory_order_acquire) : 0;
    Status status = attempt();
    if (status.code() != Code::not_yet) {
      return status;
    }
    const std::uint64_t now = os::now_ns();
    if (now >= deadline_ns) {
      return still_written();
    }
    auto& engine = areas_.mailbox_.environment().engine();
    engine.poll();
    if (engine.interrupted(now)) {
      Status ended = engine::error_of(engine.ending());
      return ended.ok() ? Status(Code::interrupted) : ended;
    }
    const std::uint64_t wait_ns = std::min(nap_ns, deadline_ns - now);
    if (file_) {
      engine.sleep_elsewhere([&] { os::futex_wait(header().word, word, wait_ns); });
    } else {
      static_cast<void>(engine.wait([] { return false; }, now + wait_ns, [] { return std::string(); }));
    }
    COUPLET_TRY(usable());
  }
}

// ---- the calls of the user ----

Status Area::read(const Part& part, void* data, std::uint64_t deadline_ns, std::uint64_t* stamp) {
  COUPLET_TRY(usable());
  COUPLET_TRY_VALUE(const auto copy, plan(part));
  auto* const out = static_cast<std::byte*>(data);
  if (out == nullptr && copy.bytes() > 0) {
    return fail(Code::argument, "{}: no memory to read into", title());
  }
  if (route_ == Route::served) {
    return served(part, out, nullptr, deadline_ns, stamp);
  }
  return repeat([&] { return unless_closed(try_read(copy, out, stamp)); }, deadline_ns);
}

Status Area::write(const Part& part, const void* data, std::uint64_t deadline_ns, std::uint64_t* stamp) {
  COUPLET_TRY(usable());
  COUPLET_TRY_VALUE(const auto copy, plan(part));
  const auto* const in = static_cast<const std::byte*>(data);
  if (in == nullptr && copy.bytes() > 0) {
    return fail(Code::argument, "{}: nothing to write", title());
  }
  if (route_ == Route::served) {
    return served(part, nullptr, in, deadline_ns, stamp);
  }
  return repeat([&] { return unless_closed(enter_and_write(copy, in, stamp)); }, deadline_ns);
}

Status Area::begin(std::uint64_t deadline_ns) {
  COUPLET_TRY(usable());
  if (!specification_.stamped || route_ != Route::own) {
    return only_for_its_owner(title());
  }
  if (writing_) {
    return fail(Code::state, "{}: begin was called already", title());
  }
  COUPLET_TRY(repeat([this] { return lock(); }, deadline_ns));
  writing_ = true;
  return {};
}

Status Area::end() {
  if (!specification_.stamped || route_ != Route::own) {
    return only_for_its_owner(title());
  }
  if (!writing_) {
    return fail(Code::state, "{}: end without begin", title());
  }
  writing_ = false;
  unlock();
  return {};
}

Status Area::close() {
  if (closed_) {
    return {};
  }
  if (writing_) {
    static_cast<void>(end());
  }
  closed_ = true;
  areas_.opened_.erase(this);
  if (route_ == Route::own) {
    areas_.own_.erase(number_);
    if (file_) {
      const bool own_memory = specification_.memory != nullptr;
      Status closed = areas_.writers_.close(header(), own_memory, areas_.max_close_wait_ns_, title());
      const Status removed = file_->remove();
      return closed.ok() ? removed : closed;
    }
  }
  return {};
}

}  // namespace couplet::task
