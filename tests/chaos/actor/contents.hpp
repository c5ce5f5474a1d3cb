// What steps and messages contain: every word is a function of its writer and of its place, so that a reader can tell
// an intact one from one that is damaged, mixed or invented, and can say whose bytes it has found instead.
#pragma once

#include <cstdint>

namespace chaos {

inline std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9U;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// The series of one life of a writing program. The life is the highest byte of each element.
struct SeriesContents {
  std::uint64_t seed = 0;
  std::uint64_t name_hash = 0;

  [[nodiscard]] std::uint64_t element(std::uint64_t life, std::int64_t step, std::int64_t place) const {
    const std::uint64_t key =
        seed ^ name_hash ^ (life << 52) ^ (static_cast<std::uint64_t>(step) * 0x9e3779b97f4a7c15U);
    return (life << 56) | (mix(key + mix(static_cast<std::uint64_t>(place))) >> 8);
  }
  static std::uint64_t life_of(std::uint64_t element) { return element >> 56; }
};

// The first word of a message; the others follow from it.
struct MessageLabel {
  std::uint64_t sender = 0;  // number of the sending process in the script
  std::uint64_t life = 0;
  std::uint64_t sequence = 0;
  bool last = false;

  [[nodiscard]] std::uint64_t word() const {
    return 0xC5ULL << 56 | sender << 48 | life << 40 | static_cast<std::uint64_t>(last) << 39 | sequence;
  }
  // Returns false if the word is no label.
  bool decode(std::uint64_t word) {
    sender = word >> 48 & 0xFF;
    life = word >> 40 & 0xFF;
    last = (word >> 39 & 1) != 0;
    sequence = word & 0x7FFFFFFFFFULL;
    return word >> 56 == 0xC5;
  }
  static std::uint64_t follows(std::uint64_t seed, std::uint64_t label, std::uint64_t index) {
    return mix(seed ^ label ^ index * 0x9e3779b97f4a7c15U);
  }
};

inline std::uint64_t hash_of(const char* text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (; *text != 0; ++text) {
    value = (value ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
  }
  return value;
}

}  // namespace chaos
