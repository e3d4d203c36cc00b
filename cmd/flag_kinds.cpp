#include "cmd/flag_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "providers/base/text.h"

namespace podctl {

CLI::App* AddCommand(CLI::App* parent, const std::string& name, const std::string& summary) {
  CLI::App* command = parent->add_subcommand(name, summary);
  command->set_help_flag("-h,--help", "show help");
  command->fallthrough();
  return command;
}

CLI::Option* AddWorkers(CLI::App* app, std::string* target, const std::string& description,
                        const std::string& type) {
  return app
      ->add_option_function<std::string>(
          "--worker",
          [target](const std::string& text) {
            if (TrimBlanks(text).empty()) {
              throw CLI::ValidationError("--worker",
                                         "is empty, which names no worker; `all` names all");
            }
            *target = text;
          },
          description)
      ->type_name(type);
}

namespace {

template <typename Target>
CLI::Option* AddDurationTo(CLI::App* app, const std::string& name, Target* target,
                           const std::string& description) {
  return app
      ->add_option_function<std::string>(
          name,
          [target, name](const std::string& text) {
            const auto duration = ParseDuration(text);
            if (!duration) {
              throw CLI::ValidationError(name, fmt::format("`{}` is not a duration such as 90s, "
                                                           "10m or 1h30m",
                                                           text));
            }
            *target = *duration;
          },
          description)
      ->type_name("DURATION");
}

}  // namespace

CLI::Option* AddDuration(CLI::App* app, const std::string& name, std::chrono::milliseconds* target,
                         const std::string& description) {
  return AddDurationTo(app, name, target, description);
}

CLI::Option* AddDuration(CLI::App* app, const std::string& name,
                         std::optional<std::chrono::milliseconds>* target,
                         const std::string& description) {
  return AddDurationTo(app, name, target, description);
}

// Adds a flag that holds a whole number from 1 to `most`. Our own words, since those of CLI11
// differ from one of its versions to the next.
CLI::Option* AddNumber(CLI::App* app, const std::string& name, int most, int* target,
                       const std::string& description) {
  return app->add_option_function<std::string>(
      name,
      [target, name, most](const std::string& text) {
        int number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || number < 1 ||
            number > most) {
          throw CLI::ValidationError(name,
                                     fmt::format("`{}` is not a number from 1 to {}", text, most));
        }
        *target = number;
      },
      description);
}

CLI::Option* AddCountOrShare(CLI::App* app, const std::string& name, int least,
                             std::optional<CountOrShare>* target, const std::string& description) {
  return app
      ->add_option_function<std::string>(
          name,
          [target, name, least](const std::string& text) {
            constexpr int kMost = 99'999;
            CountOrShare value;
            value.percent = text.ends_with('%');
            const char* last = text.data() + text.size() - (value.percent ? 1 : 0);
            const auto [end, error] = std::from_chars(text.data(), last, value.number);
            const int most = value.percent ? 100 : kMost;
            if (error != std::errc() || end != last || value.number < least ||
                value.number > most) {
              throw CLI::ValidationError(
                  name,
                  fmt::format("`{}` is not a number from {} or a share such as 25%", text, least));
            }
            *target = value;
          },
          description)
      ->type_name("N|P%");
}

// Adds the serial of a generation, a number from 1.
void AddSerial(CLI::App* app, std::uint64_t* target) {
  app->add_option_function<std::string>(
         "SERIAL",
         [target](const std::string& text) {
           const auto [end, error] =
               std::from_chars(text.data(), text.data() + text.size(), *target);
           if (error == std::errc() && end == text.data() + text.size() && *target > 0) return;
           throw CLI::ValidationError(
               "SERIAL", fmt::format("`{}` is no serial; `podctl state history` lists them", text));
         },
         "as `podctl state history` lists it")
      ->required();
}

// The same for one of a few words.
CLI::Option* AddChoice(CLI::App* app, const std::string& name,
                       const std::vector<std::string>& choices, std::string* target,
                       const std::string& description) {
  return app->add_option_function<std::string>(
      name,
      [target, name, choices](const std::string& text) {
        if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
          throw CLI::ValidationError(name,
                                     fmt::format("`{}` is not {}", text, Join(choices, " or ")));
        }
        *target = text;
      },
      description);
}

// The same for something that is on unless it is turned off: --input=false.
void AddSwitch(CLI::App* app, const std::string& name, bool* target,
               const std::string& description) {
  app->add_option_function<std::string>(
         name,
         [target, name](const std::string& text) {
           if (text != "true" && text != "false") {
             throw CLI::ValidationError(name, fmt::format("`{}` is not true or false", text));
           }
           *target = text == "true";
         },
         description)
      ->type_name("true|false");
}

}  // namespace podctl
