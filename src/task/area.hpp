// Areas: memory that its owner exposes, and that others read and write by offset or by box. On the owner's node the
// owner takes no part: the library's memory is mapped, and the owner's own memory is reached by process_vm_readv and
// process_vm_writev if that is proven to work. Otherwise the owner serves messages, in any call that it makes. One
// process at a time writes a stamped area, and what is read is whole. Other areas are raw memory. No other process
// writes the owner's memory once close has returned (area_writers.hpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/copy_plan.hpp"
#include "os/mapped_file.hpp"
#include "os/process_memory.hpp"
#include "task/area_writers.hpp"
#include "task/mailbox.hpp"
#include "wire/area_format.hpp"

namespace couplet::task {

struct AreaSpecification {
  std::string name;
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  void* memory = nullptr;  // the owner's; nullptr: the library's, set to zero
  bool stamped = false;
};

// Says how an area's elements are reached.
enum class Route : std::uint8_t { own, mapped, memory, served };
[[nodiscard]] const char* route_name(Route route) noexcept;

// A part of an area: a box, or `count` elements from `offset` in C order.
struct Part {
  std::optional<layout::Box> box;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

class Areas;

class Area {
 public:
  ~Area();
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  [[nodiscard]] const AreaSpecification& specification() const noexcept { return specification_; }
  [[nodiscard]] channel::PeerId owner() const noexcept { return owner_; }
  [[nodiscard]] Route route() const noexcept { return route_; }
  // Returns the elements' address in this process, or nullptr if they are not there.
  [[nodiscard]] std::byte* memory() const noexcept { return data_; }

  // Returns an object that keeps memory() mapped in this process for as long as it lives, also after the area is
  // closed; nullptr if the memory is the owner's own, or is not there.
  [[nodiscard]] std::shared_ptr<const void> keeper() const noexcept;

  // Reads the part. `data` has as many elements as the part, in C order. `stamp` (may be nullptr) gets how often a
  // stamped area has been written. Returns shape if the part is outside the area; not_found if the owner has closed it;
  // peer_lost if the owner is gone, or a process died while it wrote; timeout if a stamped area is being written, or an
  // owner that serves makes no call; or interrupted.
  Status read(const Part& part, void* data, std::uint64_t deadline_ns, std::uint64_t* stamp);
  Status write(const Part& part, const void* data, std::uint64_t deadline_ns, std::uint64_t* stamp);
  // Begins a change of a stamped area by its owner, in its own memory. Returns state or timeout.
  Status begin(std::uint64_t deadline_ns);
  Status end();
  // Closes the area. If the owner closes it, the other users then get not_found or peer_lost, and it waits for those
  // that are writing its own memory. Returns timeout if one of them does not end (Areas, max_close_wait_ns).
  Status close();

 private:
  friend class Areas;
  Area(Areas& areas, AreaSpecification specification) : areas_(areas), specification_(std::move(specification)) {}
  [[nodiscard]] std::string title() const;
  Status usable();
  // Returns not_found if the owner has closed the area, else `status`. What was copied before counts only if it is ok.
  [[nodiscard]] Status unless_closed(Status status) const;
  [[nodiscard]] Result<layout::CopyPlan> plan(const Part& part) const;
  [[nodiscard]] wire::AreaHeaderImage& header() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  Status move(const layout::CopyPlan& plan, std::byte* local, bool writing);
  // Attempts a read once. Returns not_yet if a process is writing.
  Status try_read(const layout::CopyPlan& plan, std::byte* data, std::uint64_t* stamp);
  Status try_write(const layout::CopyPlan& plan, const std::byte* data, std::uint64_t* stamp);
  // Writes as a process that the owner waits for if it closes the area. Returns not_yet or not_found.
  Status enter_and_write(const layout::CopyPlan& plan, const std::byte* data, std::uint64_t* stamp);
  Status lock();
  void unlock();
  Status served(const Part& part, std::byte* out, const std::byte* in, std::uint64_t deadline_ns, std::uint64_t* stamp);
  [[nodiscard]] Status still_written() const;
  Status repeat(const std::function<Status()>& attempt, std::uint64_t deadline_ns);

  Areas& areas_;
  AreaSpecification specification_;
  channel::PeerId owner_ = 0;
  std::uint16_t owner_incarnation_ = 0;
  Status owner_lost_;               // ok while the owner is alive
  std::uint64_t next_look_ns_ = 0;  // time of the next check whether the owner is alive
  std::int32_t number_ = 0;         // the owner's number of the area
  Route route_ = Route::own;
  std::shared_ptr<os::MappedFile> file_;
  std::byte* data_ = nullptr;
  std::unique_ptr<os::ProcessMemory> memory_;  // for Route::memory
  std::uint64_t address_ = 0;                  // for Route::memory
  bool writing_ = false;                       // true between begin and end
  bool closed_ = false;
};

// All areas of a process, and the code that serves them.
class Areas final : public Listener {
 public:
  // max_close_wait_ns: how long the close of an own area waits for a process that is writing the owner's memory.
  explicit Areas(Mailbox& mailbox, std::uint64_t max_close_wait_ns = 5'000'000'000);
  ~Areas() override;

  // Creates an area. Returns argument, type, shape, limit or no_space, or exists if this process has an area of that
  // name.
  Result<std::unique_ptr<Area>> create(AreaSpecification specification);
  // Opens an area of `owner`, a universe rank. Waits until the owner has created it. Returns not_found, which names the
  // owner's areas; timeout if the owner makes no call; or peer_lost.
  Result<std::unique_ptr<Area>> open(const std::string& name, channel::PeerId owner, std::uint64_t deadline_ns);

  void message(channel::PeerId source, wire::TaskMessage message) override;
  void lost(channel::PeerId peer, const Status& why) override;

 private:
  friend class Area;
  struct Question {
    channel::PeerId source;
    std::uint64_t number;
    std::string name;
  };
  struct Call {  // a call that waits for the owner's message
    channel::PeerId owner = 0;
    std::optional<wire::TaskMessage> message;
    Status lost;
  };
  void remove_files_of_earlier_lives();
  void asked(channel::PeerId source, const wire::TaskMessage& message);
  void describe(channel::PeerId target, std::uint64_t number, const Area& area);
  void serve(channel::PeerId source, wire::TaskMessage message);
  void reach(Area& area, const wire::TaskMessage& described);
  // Sends the message and waits for the answer.
  Result<wire::TaskMessage> call(channel::PeerId owner, wire::TaskMessage message, std::uint64_t deadline_ns);

  Mailbox& mailbox_;
  AreaWriters writers_;
  std::uint64_t max_close_wait_ns_;
  std::uint64_t space_;
  std::map<std::int32_t, Area*> own_;
  std::set<Area*> opened_;  // areas of other processes
  std::int32_t next_area_ = 0;
  std::vector<Question> questions_;  // questions about areas that do not exist yet
  std::map<std::uint64_t, Call> calls_;
  std::uint64_t nonce_ = 0;  // proves that the memory that is read is this process's
};

}  // namespace couplet::task
