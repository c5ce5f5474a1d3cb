// Which process of the script an actor is.
#pragma once

#include <cstdint>
#include <string>

namespace chaos {

struct Self {
  std::string program;
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::uint64_t life = 0;
  std::uint64_t seed = 0;
  std::uint64_t number = 0;  // counts the processes of the script
};

}  // namespace chaos
