#include "options.hpp"

#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

#include "clients.hpp"
#include "vessel.hpp"

namespace bloodflow {
namespace {

using Setter = std::function<void(const std::string&)>;

template <typename T>
Setter into(T& value) {
  return [&value](const std::string& text) {
    std::istringstream stream(text);
    if (!(stream >> value) || !(stream >> std::ws).eof()) throw std::invalid_argument("it is no number");
  };
}

Setter into(std::string& value) {
  return [&value](const std::string& text) { value = text; };
}

void check(const Options& options) {
  const auto require = [](bool holds, const std::string& text) {
    if (!holds) throw std::invalid_argument(text);
  };
  shape_of(options.shape);
  read_commands(options.commands);
  require(options.radius >= 2 && options.radius <= 64, "radius must be 2 to 64");
  require(options.viscosity > 0 && options.viscosity < 1, "viscosity must be more than 0 and less than 1");
  require(options.rounds > 0, "rounds must be at least 1");
  require(options.frame_every > 0 && options.check_every > 0, "frame_every and check_every must be at least 1");
  require(options.pixels > 0 && options.pixels <= 16, "pixels must be 1 to 16");
  require(options.save_every % options.frame_every == 0 && options.save_every % options.check_every == 0,
          "save_every must be a multiple of frame_every and of check_every");
  require(options.repartition_at == 0 || options.repartition_at + 1 < options.rounds,
          "repartition_at must leave at least two rounds");
  require(options.table >= 0, "table must be 0 or more");
}

}  // namespace

Options read_options(int count, char** words) {
  Options options;
  const std::map<std::string, Setter> setters = {{"shape", into(options.shape)},
                                                 {"radius", into(options.radius)},
                                                 {"viscosity", into(options.viscosity)},
                                                 {"inflow", into(options.inflow)},
                                                 {"rounds", into(options.rounds)},
                                                 {"commands", into(options.commands)},
                                                 {"frame_every", into(options.frame_every)},
                                                 {"pixels", into(options.pixels)},
                                                 {"check_every", into(options.check_every)},
                                                 {"merge_waits", into(options.merge_waits)},
                                                 {"merge_messages", into(options.merge_messages)},
                                                 {"method", into(options.method)},
                                                 {"repartition_at", into(options.repartition_at)},
                                                 {"save_every", into(options.save_every)},
                                                 {"restart", into(options.restart)},
                                                 {"die_at", into(options.die_at)},
                                                 {"viewer", into(options.viewer)},
                                                 {"output", into(options.output)},
                                                 {"table", into(options.table)}};
  for (int n = 1; n < count; ++n) {
    const std::string word = words[n];
    const std::size_t sign = word.find('=');
    const auto setter = setters.find(word.substr(0, sign));
    if (sign == std::string::npos || setter == setters.end()) {
      std::string text = "the options are name=value, with one of the names";
      for (const auto& [name, unused] : setters) text.append(" ").append(name);
      throw std::invalid_argument(text.append("; not ").append(word));
    }
    try {
      setter->second(word.substr(sign + 1));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(word + ": " + error.what());
    }
  }
  check(options);
  return options;
}

}  // namespace bloodflow
