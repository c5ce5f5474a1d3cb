// Areas: memory that its owner exposes and that others read and write, by offset or by box. On the owner's node without him:
// the library's memory is mapped, his own is reached by process_vm_readv and process_vm_writev where that is proven to work;
// otherwise he serves letters, in whatever call he makes.
// A stamped area is written by one at a time, and what is read is whole; others are raw memory.
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
#include "task/post.hpp"
#include "wire/area_format.hpp"

namespace couplet::task {

struct AreaSpecification {
  std::string name;
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  void* memory = nullptr;  // the owner's; nullptr: the library's, zero
  bool stamped = false;
};

// How an area's elements are reached.
enum class Route : std::uint8_t { own, mapped, memory, served };
[[nodiscard]] const char* route_name(Route route) noexcept;

// What of an area: a box, or `count` elements from `offset` in C order.
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
  // Where the elements are in this process; nullptr where they are not.
  [[nodiscard]] std::byte* memory() const noexcept { return data_; }

  // data: as many elements as the part has, in C order. shape: outside the area; peer_lost: its owner is gone, or somebody
  // died while it wrote; timeout: a stamped area is being written, or an owner that serves makes no call; interrupted. stamp (may be
  // nullptr): how often it has been written, for stamped areas.
  Status read(const Part& part, void* data, std::uint64_t deadline_ns, std::uint64_t* stamp);
  Status write(const Part& part, const void* data, std::uint64_t deadline_ns, std::uint64_t* stamp);
  // Owner of a stamped area: before and after he changes its memory himself. state; timeout.
  Status begin(std::uint64_t deadline_ns);
  Status end();
  // Local. The owner's takes the area away: who uses it then finds not_found, or peer_lost.
  Status close();

 private:
  friend class Areas;
  Area(Areas& areas, AreaSpecification specification) : areas_(areas), specification_(std::move(specification)) {}
  [[nodiscard]] std::string title() const;
  Status usable();
  [[nodiscard]] std::uint64_t own_mark() const noexcept;
  [[nodiscard]] Status writer_lives(std::uint64_t mark) const;
  [[nodiscard]] Result<layout::CopyPlan> plan(const Part& part) const;
  [[nodiscard]] wire::AreaHeaderImage& header() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  Status move(const layout::CopyPlan& plan, std::byte* local, bool writing);
  // One attempt each; not_yet: somebody writes.
  Status try_read(const layout::CopyPlan& plan, std::byte* data, std::uint64_t* stamp);
  Status try_write(const layout::CopyPlan& plan, const std::byte* data, std::uint64_t* stamp);
  Status lock();
  void unlock();
  Status served(const Part& part, std::byte* out, const std::byte* in, std::uint64_t deadline_ns, std::uint64_t* stamp);
  Status repeat(const std::function<Status()>& attempt, std::uint64_t deadline_ns);

  Areas& areas_;
  AreaSpecification specification_;
  channel::PeerId owner_ = 0;
  std::uint16_t owner_incarnation_ = 0;
  Status owner_lost_;               // ok while it lives
  std::uint64_t next_look_ns_ = 0;  // at whether the owner lives
  std::int32_t number_ = 0;         // the owner's
  Route route_ = Route::own;
  std::unique_ptr<os::MappedFile> file_;
  std::byte* data_ = nullptr;
  std::unique_ptr<os::ProcessMemory> memory_;  // Route::memory
  std::uint64_t address_ = 0;                  // likewise
  bool writing_ = false;                       // between begin and end
  bool closed_ = false;
};

// All areas of a process, and the serving of them.
class Areas final : public Listener {
 public:
  explicit Areas(Post& post);
  ~Areas() override;

  // argument, type, shape, limit, no_space; exists: this process has an area of that name.
  Result<std::unique_ptr<Area>> create(AreaSpecification specification);
  // Waits until the owner, a universe rank, has created it. not_found naming the areas he has; timeout: he makes no call;
  // peer_lost.
  Result<std::unique_ptr<Area>> open(const std::string& name, channel::PeerId owner, std::uint64_t deadline_ns);

  void letter(channel::PeerId source, wire::Letter letter) override;
  void lost(channel::PeerId peer, const Status& why) override;

 private:
  friend class Area;
  struct Question {
    channel::PeerId source;
    std::uint64_t number;
    std::string name;
  };
  struct Call {  // one that waits for the owner's letter
    channel::PeerId owner = 0;
    std::optional<wire::Letter> letter;
    Status lost;
  };
  void asked(channel::PeerId source, const wire::Letter& letter);
  void describe(channel::PeerId target, std::uint64_t number, const Area& area);
  void serve(channel::PeerId source, wire::Letter letter);
  void reach(Area& area, const wire::Letter& described);
  // Sends it and waits for what comes back.
  Result<wire::Letter> call(channel::PeerId owner, wire::Letter letter, std::uint64_t deadline_ns);

  Post& post_;
  std::uint64_t space_;
  std::map<std::int32_t, Area*> own_;
  std::set<Area*> opened_;  // of others
  std::int32_t next_area_ = 0;
  std::vector<Question> questions_;  // for areas that do not exist yet
  std::map<std::uint64_t, Call> calls_;
  std::uint64_t next_call_ = 0;
  std::uint64_t nonce_ = 0;  // proves that this process's memory is the one that is read
};

}  // namespace couplet::task
