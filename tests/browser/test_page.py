"""The page in Chromium: from paste to fix at three widths, with and without script, in both languages."""

import pytest

pytestmark = pytest.mark.browser
WIDTHS = pytest.mark.parametrize("width", [1280, 390, 320])


def answered(page):
    page.locator("#answer article").wait_for()
    return page


def ask(page, text):
    page.fill("#text", text)
    page.click("text=Explain it")
    answered(page)


@WIDTHS
def test_paste_gives_the_answer_on_the_same_page(open_page, paste, width):
    page = open_page(width=width)
    ask(page, paste)
    assert "A layer gets inputs of the wrong width" in page.inner_text("#answer h2")
    assert "(16x127 and 128x64)" in page.inner_text("#answer mark")
    assert page.locator(".diff del:visible").count() == 1
    assert page.evaluate("scrollY") == 0
    assert page.input_value("#text") == paste
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.activeElement.id") == "answer"


@WIDTHS
@pytest.mark.parametrize("path", ["/", "/e/linear-width-mismatch?lang=zh", "/browse", "/nix"])
def test_no_page_is_wider_than_the_window(open_page, path, width):
    assert open_page(path, width=width).evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_real_paste_asks_by_itself(open_page, paste):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", paste)
    page.focus("#text")
    page.keyboard.press("Control+V")
    answered(page)


def test_a_paste_in_the_place_of_the_last_one_asks_by_itself(open_page, paste):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.fill("#text", "loader seed is odd")
    page.click("text=Explain it")
    page.locator("#answer .answer").wait_for()
    page.evaluate("text => navigator.clipboard.writeText(text)", paste)
    page.keyboard.press("/")
    page.keyboard.press("Control+V")
    page.get_by_text("A layer gets inputs of the wrong width").wait_for()


def test_keyboard_alone(open_page, paste):
    page = open_page()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.insert_text(paste)
    page.keyboard.press("Control+Enter")
    answered(page)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "text"


def test_slash_on_an_entry_leads_to_the_question(open_page):
    page = open_page("/e/quiet-broadcast")
    page.keyboard.press("/")
    page.wait_for_url("**/")
    assert page.locator("#text").is_visible()


def test_copy_gives_the_lines_that_change(open_page):
    page = open_page("/e/linear-width-mismatch", permissions=["clipboard-read", "clipboard-write"])
    page.locator(".copy:visible").first.click()
    assert page.evaluate("navigator.clipboard.readText()") == "first = nn.Linear(8, 4)\n"
    assert page.locator(".copy:visible").first.inner_text() == "Copied"


def test_the_whole_program_can_be_copied(open_page):
    page = open_page("/e/linear-width-mismatch", permissions=["clipboard-read", "clipboard-write"])
    page.locator("summary:visible", has_text="whole programs").click()
    page.locator("[data-copy=fix-case-plain]").click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("import torch\n")


def test_copy_without_clipboard_permission_falls_back(open_page):
    page = open_page("/e/linear-width-mismatch")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('denied')); }")
    page.locator(".copy:visible").first.click()
    page.get_by_text("Copied", exact=True).first.wait_for()


def top(page, selector):
    """The distance of the first visible one from the top of the page, in pixels."""
    return page.locator(f"{selector}:visible").first.bounding_box()["y"] + page.evaluate("scrollY")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.parametrize("cuda", [False, True])
def test_the_answer_and_the_first_change_are_on_the_first_screen(open_page, paste, width, height, cuda):
    page = open_page(width=width)
    page.set_viewport_size({"width": width, "height": height})
    ask(page, "RuntimeError: CUDA error: width 6 of the first layer is not supported" if cuda else paste)
    assert page.evaluate("scrollY") == 0
    assert top(page, ".found") < top(page, ".title") < top(page, ".remedy") < top(page, ".causes > label")
    assert top(page, ".causes > label") < top(page, ".diff") + 60 < height


def test_choosing_a_cause_shows_its_change_and_the_fitting_one_is_chosen(open_page, paste):
    page = open_page()
    ask(page, "RuntimeError: CUDA error: width 6 of the first layer is not supported")
    assert page.is_checked("#cause-2")
    assert "Your paste has cuda" in page.inner_text("label[for=cause-2]")
    assert page.locator("#case-on-gpu .diff").is_visible()
    page.click("label[for=cause-1]")
    assert page.locator("#case-on-gpu .diff").is_hidden()
    assert page.locator("#case-plain .diff").is_visible()


def test_what_is_said_of_one_cause_recedes_while_another_is_chosen(open_page):
    page = open_page()
    ask(page, "UserWarning: the workers of this loader share a seed")
    colour = "getComputedStyle(document.querySelector('.remedy')).color"
    full = page.evaluate(colour)
    assert "Pass a generator." in page.inner_text(".remedy")
    page.click("label[for=cause-1]")
    assert page.evaluate(colour) != full
    assert "Choose another one." in page.inner_text(".panel:visible .prose")
    page.click("label[for=cause-2]")
    assert page.evaluate(colour) == full
    assert page.locator(".panel:visible .prose").count() == 0
    assert page.locator(".panel:visible .diff").count() == 1


def test_switching_the_language_keeps_paste_answer_and_url(open_page, paste):
    page = open_page()
    ask(page, paste)
    page.click("text=中文")
    page.wait_for_url("**lang=zh**")
    assert page.input_value("#text").strip() == paste.strip()
    assert "层的输入宽度不对" in page.inner_text("#answer h2")
    page.click("text=English")
    page.wait_for_url("**lang=en**")
    assert "A layer gets inputs" in page.inner_text("#answer h2")


def test_switching_the_language_of_an_answer_leaves_a_way_back_and_the_keyboard_in_place(open_page, paste):
    page = open_page()
    page.set_viewport_size({"width": 1280, "height": 500})
    ask(page, paste)
    page.click("label[for=cause-2]")
    page.evaluate("document.querySelectorAll('h3')[1].scrollIntoView({ behavior: 'instant' })")
    page.evaluate("document.querySelector('[data-lang]').focus({ preventScroll: true })")
    page.keyboard.press("Enter")
    page.locator("html[lang=zh-Hans]").wait_for()
    assert abs(page.evaluate("document.querySelectorAll('h3')[1].getBoundingClientRect().top") - 64) < 16
    assert page.is_checked("#cause-2")
    assert page.evaluate("document.activeElement.lang") == "en"
    page.click(".related a")
    page.wait_for_url("**/e/quiet-broadcast?lang=zh")
    page.go_back()
    answered(page)
    assert "层的输入宽度不对" in page.inner_text("#answer h2")
    assert page.input_value("#text").strip() == paste.strip()


def test_switching_the_language_keeps_the_place_and_the_chosen_cause(open_page):
    page = open_page("/e/linear-width-mismatch", width=390)
    page.set_viewport_size({"width": 390, "height": 400})
    page.click("label[for=cause-2]")
    page.evaluate("document.querySelectorAll('h2')[1].scrollIntoView()")
    switch = page.locator("[data-lang]").bounding_box()
    page.mouse.click(switch["x"] + 5, switch["y"] + 5)
    page.wait_for_url("**lang=zh")
    page.wait_for_load_state("load")
    assert abs(page.evaluate("document.querySelectorAll('h2')[1].getBoundingClientRect().top") - 64) < 16
    assert page.is_checked("#cause-2")


def test_back_without_scripts_shows_the_answer(open_page, paste):
    page = open_page(java_script_enabled=False)
    page.fill("#text", paste)
    page.click("form button:not([type])")
    page.click(".related a")
    page.wait_for_url("**/e/quiet-broadcast*")
    page.go_back()  # of a page that the browser may not keep, it would ask whether to send the form again
    assert page.inner_text("#answer h2") == "A layer gets inputs of the wrong width"


def test_coming_back_from_a_related_entry_finds_answer_cause_and_place(open_page, paste):
    page = open_page()
    page.set_viewport_size({"width": 1280, "height": 500})
    ask(page, paste)
    page.click("label[for=cause-2]")
    page.locator(".related a").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    before = page.evaluate("scrollY")
    assert before > 100
    page.click(".related a")
    page.wait_for_url("**/e/quiet-broadcast")
    page.go_back()
    answered(page)
    page.wait_for_function(f"Math.abs(scrollY - {before}) < 3")
    assert page.is_checked("#cause-2")
    assert page.input_value("#text").strip() == paste.strip()


def test_back_goes_from_answer_to_answer_and_to_the_empty_page(open_page, paste):
    page = open_page()
    ask(page, paste)
    page.fill("#text", "RuntimeError: CUDA error: width 6 of the first layer is not supported")
    page.click("text=Explain it")
    page.locator(".fits").wait_for()
    assert page.url.endswith("/")
    page.go_back()
    page.locator("#answer mark", has_text="(16x127 and 128x64)").wait_for()
    assert page.input_value("#text").strip() == paste.strip()
    page.go_forward()
    page.locator(".fits").wait_for()
    page.go_back()
    page.locator("#answer mark", has_text="(16x127 and 128x64)").wait_for()
    page.go_back()
    page.locator("h1.big").wait_for()


def test_coming_back_finds_the_question_and_its_answer(open_page, paste):
    page = open_page()
    ask(page, paste)
    page.goto("/e/quiet-broadcast")
    page.go_back()
    answered(page)
    assert page.input_value("#text").strip() == paste.strip()
    page.click(".brand")
    page.locator("h1.big").wait_for()
    assert page.input_value("#text") == ""


def test_coming_back_finds_the_last_question_not_the_one_that_the_address_asked(open_page, paste):
    page = open_page("/?q=loader+seed+is+odd")
    ask(page, paste)
    page.get_by_text("(16x127 and 128x64)").first.wait_for()
    page.goto("/browse")
    page.go_back()
    page.locator("#answer mark", has_text="(16x127 and 128x64)").wait_for()


def test_a_question_in_chinese_turns_the_page_chinese(open_page):
    page = open_page()
    page.fill("#text", "矩阵乘法维度对不上")
    page.click("text=Explain it")
    page.locator("html[lang=zh-Hans]").wait_for()
    assert page.inner_text("button.primary") == "查原因"
    page.fill("#text", "ZeppelinError: no quux")
    page.click("text=查原因")
    page.locator(".found.none").wait_for()


def test_causes_are_chosen_by_key_and_by_the_address_of_a_case(open_page):
    page = open_page("/e/linear-width-mismatch")
    assert page.locator("#fix-case-plain").count() == 1
    page.focus("#cause-1")
    page.keyboard.press("ArrowDown")
    assert page.get_by_text("Not verified on CUDA").is_visible()
    page.goto("/e/linear-width-mismatch#case-on-gpu")
    page.reload()
    assert page.is_checked("#cause-2")


def test_colours_follow_the_system_and_the_switch_is_remembered(open_page):
    page = open_page(color_scheme="dark")

    def dark():
        return page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] < 100")

    assert dark()
    page.click("[data-theme-switch]")
    assert not dark()
    page.goto("/browse")
    assert not dark()
    page.click("[data-theme-switch]")
    page.click("[data-theme-switch]")
    assert dark()
    assert page.evaluate("localStorage.getItem('theme')") is None


def test_dark_pages_are_printed_dark_on_light_and_each_cause_with_its_change(open_page):
    page = open_page("/e/linear-width-mismatch", color_scheme="dark")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)[0] < 100")
    ways = [page.locator(f"label[for=cause-{number}]").bounding_box()["y"] for number in (1, 2)]
    diffs = [figure.bounding_box()["y"] for figure in page.locator(".diff:visible").all()]
    assert ways[0] < diffs[0] < ways[1] < diffs[1]


def test_browsing_filters_as_one_types(open_page):
    page = open_page("/browse")
    page.fill("#filter", "loader SEED")
    assert page.locator(".topic .entries li:visible").count() == 1
    page.fill("#filter", "")
    assert page.locator(".topic .entries li:visible").count() == 4


def test_a_filter_that_leaves_nothing_says_so(open_page):
    page = open_page("/browse")
    page.fill("#filter", "zeppelin")
    page.get_by_text("No entry has all of these words").wait_for()
    page.fill("#filter", "loader")
    assert page.get_by_text("No entry has all of these words").count() == 0


def test_an_unreachable_server_is_told_and_the_text_stays(open_page, paste):
    page = open_page()
    page.fill("#text", paste)
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('offline')); }")
    page.click("text=Explain it")
    page.get_by_text("The server cannot be reached").last.wait_for()
    assert page.input_value("#text") == paste
    assert page.inner_text("button.primary") == "Explain it"


def test_of_a_log_longer_than_the_server_takes_the_end_is_asked(open_page, paste):
    page = open_page()
    page.evaluate(
        "paste => { document.querySelector('#text').value = '步骤 12: 正常\\n'.repeat(100000) + paste; }", paste
    )
    page.set_default_timeout(90_000)  # Chromium lays out a megabyte of text
    page.evaluate("document.querySelector('#ask').requestSubmit()")
    answered(page)
    assert page.inner_text("#answer mark").startswith("RuntimeError: mat1")


def test_a_text_that_the_server_refuses_is_told_on_the_page(open_page):
    page = open_page()
    page.route("**/", lambda route: route.continue_(post_data="text=" + "a" * 1100000))
    page.fill("#text", "anything")
    page.click("text=Explain it")
    page.get_by_text("At most 1 MiB").wait_for()
    assert page.text_content("#status") == "That is too long"


def test_the_permanent_link_leads_to_the_entry(open_page, paste):
    page = open_page()
    ask(page, paste)
    page.click("text=Permanent link to this answer")
    page.wait_for_url("**/e/linear-width-mismatch")
    assert page.inner_text("h1") == "A layer gets inputs of the wrong width"
    assert page.title() == "RuntimeError: mat1 and mat2 shapes cannot be multiplied (… and …) · kb"


@pytest.mark.parametrize("script", [True, False])
def test_telling_that_it_helped_is_thanked(open_page, script):
    page = open_page("/e/quiet-broadcast", java_script_enabled=script)
    page.click(".helped button[value=yes]")
    page.get_by_text("Thank you.").locator("visible=true").wait_for()


@pytest.mark.parametrize("script", [True, False])
def test_after_a_no_the_next_cause_is_shown(open_page, script):
    page = open_page("/e/linear-width-mismatch", java_script_enabled=script)
    page.click("#panel-1 .helped button[value=no]")
    page.get_by_text("So it was not “The layer before gives another width”").wait_for()
    assert page.is_checked("#cause-2")
    assert page.locator("#panel-2 .diff").is_visible()
    page.click("#panel-2 .helped button[value=no]")
    page.get_by_text("So it is none of these" if script else "Thank you.").locator("visible=true").wait_for()


def test_what_does_not_reach_the_server_is_not_thanked_for(open_page):
    page = open_page("/e/linear-width-mismatch")
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('offline')); }")
    page.click("#panel-1 .helped button[value=yes]")
    page.get_by_text("This could not be sent").wait_for()
    assert page.locator(".helped button:visible").count() == 2
    page.click("text=Run both programs")
    page.get_by_text("The server cannot be reached").wait_for()


def test_running_shows_what_both_programs_print(open_page):
    page = open_page("/e/linear-width-mismatch")
    page.click("text=Run both programs")
    page.locator("figure[data-role=fix] .way", has_text="ran to its end in 0.34 s").wait_for()
    assert page.locator("figure[data-role=repro] samp").inner_text().strip() == "RuntimeError: from the sandbox"
    assert page.locator("figure[data-role=fix] samp").inner_text() == "(nothing)"
    page.locator("form.run [role=status]", has_text="Done.").first.wait_for()


def test_a_run_can_be_cancelled(open_page):
    page = open_page("/e/quiet-broadcast")
    page.click("text=Run both programs")
    page.get_by_text("RuntimeError: from the sandbox").wait_for()
    page.click("[data-cancel]")
    page.locator("form.run [role=status]", has_text="Cancelled.").wait_for()
    assert page.locator("[data-cancel]").is_hidden()


def test_running_without_script_leads_to_a_page_with_the_output(open_page):
    page = open_page("/e/linear-width-mismatch", java_script_enabled=False)
    page.click("text=Run both programs")
    page.wait_for_url("**/run/**")
    page.get_by_text("ran to its end in 0.34 s").wait_for()


@WIDTHS
def test_everything_works_without_script(open_page, paste, width):
    page = open_page(width=width, java_script_enabled=False)
    ask(page, paste)
    page.click("label[for=cause-2]")
    assert page.get_by_text("Not verified on CUDA").is_visible()
    page.locator("summary:visible").filter(has_text="whole programs").click()
    assert page.locator("#fix-case-on-gpu").is_visible()
    assert page.locator(".copy:visible").count() == 0
    page.click("text=中文")
    assert "层的输入宽度不对" in page.inner_text("#answer h2")
    assert "secret-project" in page.input_value("#text")


def test_the_first_page_weighs_less_than_60_kilobytes(open_page, browser, site):
    context = browser.new_context(base_url=site)
    page = context.new_page()
    sizes = []
    page.on("response", lambda response: sizes.append(len(response.body()) + len(str(response.headers))))
    page.goto("/", wait_until="networkidle")
    context.close()
    assert len(sizes) >= 4
    assert sum(sizes) < 60_000
