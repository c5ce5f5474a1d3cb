// The memory in which a reader keeps the steps that come from another node.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "os/memory_block.hpp"
#include "series/series_file.hpp"
#include "wire/series_format.hpp"

namespace couplet::relay {

// Memory in the format of a series file. It takes no time to make, whatever its size: the system allocates a page when
// something arrives in it.
class LocalSlots {
 public:
  static Result<std::unique_ptr<LocalSlots>> make(wire::SeriesGeometry geometry, const std::string& title);
  [[nodiscard]] series::SeriesFile& file() const noexcept { return *file_; }

 private:
  os::MemoryBlock memory_;
  std::unique_ptr<series::SeriesFile> file_;
};

// The slots of a part, which a lane fills. If the part ends while a frame is arriving, they stay until the lane is done
// with it: it would go on to write to memory that belongs to something else.
class FilledSlots {
 public:
  struct Left {
    std::uint32_t number = 0;  // the number by which the relay knows the part
    const channel::Channel* channel = nullptr;
    std::unique_ptr<LocalSlots> slots;
  };

  explicit FilledSlots(std::unique_ptr<LocalSlots> slots) {
    own_.emplace_back();  // now, since a destructor must not need memory
    own_.front().slots = std::move(slots);
  }
  [[nodiscard]] series::SeriesFile& file() const noexcept { return own_.front().slots->file(); }
  void begin_filling() noexcept { filling_ = true; }
  void end_filling() noexcept { filling_ = false; }
  // The part ends. channel: from which the frame comes; nullptr: it is gone.
  void leave_to(std::list<Left>& left, std::uint32_t number, const channel::Channel* channel) noexcept {
    if (filling_ && channel != nullptr) {
      own_.front().number = number;
      own_.front().channel = channel;
      left.splice(left.end(), own_);
    }
  }

 private:
  std::list<Left> own_;  // one entry
  bool filling_ = false;
};

}  // namespace couplet::relay
