// A reader in C++ whose writer comes back with other fields. usage: returning_cpp PROGRAM SERIES READS
// It prints one line for each read: the answer, and for each field its name, its number of elements and its first one.
#include <cstdio>
#include <cstdlib>

#include "couplet/couplet.hpp"

int main(int count, char** words) {
  if (count != 4) return 2;
  couplet::Universe universe = couplet::join(words[1]);
  auto reader = universe.open_fields(words[2]);
  std::puts("ready");
  std::fflush(stdout);
  const auto read = [&reader] {
    for (;;) {
      try {
        const auto batch = reader.read({.up_to = 1, .timeout_s = 20});
        if (batch.status() != COUPLET_NOT_YET) return batch;
      } catch (const couplet::Error& error) {  // until the writer is back
        if (error.code() != COUPLET_ERROR_PEER_LOST) throw;
      }
    }
  };
  for (int left = std::atoi(words[3]); left > 0; --left) {
    const auto batch = read();
    std::printf("%s", couplet_status_name(batch.status()));
    for (const couplet::FieldInfo& field : reader.fields()) {
      if (batch.empty()) continue;
      if (field.type == COUPLET_DOUBLE) {
        const auto values = batch.get<double>(field.name);
        std::printf(" %s %zu %g", field.name.c_str(), values.size(), values.front());
      } else {
        const auto values = batch.get<float>(field.name);
        std::printf(" %s(float) %zu %g", field.name.c_str(), values.size(), static_cast<double>(values.front()));
      }
    }
    std::puts("");
    std::fflush(stdout);
  }
  reader.close();
  universe.leave();
}
