"""Pages whose headings and parts make ids hard to foresee."""

HEADINGS = """\
---
title: Headings
---
import Tabs from '@theme/Tabs';
import TabItem from '@theme/TabItem';
import Part from './_part.mdx';
import Shared, {toc as sharedToc} from '@site/src/parts/_shared.mdx';

Before every heading.

## Wick

First wick.

## Wick

Second wick.

## Wick 1

Wick with a one.

## Wick-1

Wick with a dash.

## `wick()` & *its* **care**

Marked up.

## Größe: naïve 日本 Ⓐ

Not ASCII.

## Custom {#my-id}

Own id.

## Custom

Same words, no id.

## With <b>bold</b> inside

A tag inside.

## Badge <span className="x" />

A tag at the end.

## Value {1 + 1} here

An expression.

## A [link](https://x.example) and ![alt text](https://x.example/a.png)

A link and a picture.

## Ratio a:b, std::vector, 10:30

Colons.

## Label :abbr[HTML]{title="x"} and :smile:

Directives.

## Closed ##

Closing marks.

Setext heading
--------------

Underlined.

Two lines
of setext
---

Underlined twice.

## AT&amp;T &copy; now

Entities.

## Escaped \\*stars\\* and \\{braces\\}

Escapes.

## Footnote[^1]

A footnote.

## ~~Struck~~ out

Struck.

## 1. Numbered -- list

Numbers.

## _under_ snake_case_name

Underscores.

## Comment <!-- hidden -->

A comment.

## Emphasis *with <i>a tag</i>* in it

Nested.

## MiXeD CaSe

Case.

## Emoji 🎉 party

Emoji.

##   Spaces   inside

Spaces.

## Star*not*emphasis and 2*3

Stars.

## `a` `b`

Codes.

## "Quotes" — dashes… ‘single’

Typography.

:::note[A note]

## Nested in a note

Inside the note.

:::

> ## Nested in a quote
>
> Inside the quote.

- ## Nested in a list

## Nested in a note

The same words outside.

## Nested in a quote

Again outside.

## Nested in a list

And again.

<Tabs>
  <TabItem value="a" label="A">

## In a tab

Tab text.

  </TabItem>
</Tabs>

<details>
<summary>Sum</summary>

### In details

Details text.

</details>

# Second title

Text under a second title.

## After it

More.

<Part lamp="hurricane" />

## After the part

Behind the part.

<Shared>

Children of the shared part.

</Shared>

```jsx
## Not a heading
<Part lamp="code" />
```

[^1]: The note.
"""
COMMONMARK = """\
---
mdx:
  format: md
---
# Plain page

Braces {stay} here.

## Plain page

Same as the title.

## Tag <b>bold</b> and <https://x.example>

HTML.

## Nested *with <i>a tag</i>* here

Nested HTML.

## Braces {x} stay

Braces.

## Own {#own-id}

Own.

    ## Indented code
    <b>

## Plain page

Third.
"""
PART = """\
import Deep from './parts/_deep.mdx';

Partly about the {props.lamp} lamp.

## Wick of the part

Wick text of the part.

## Custom

The part's own custom.

<Deep />
"""
SHARED = """\
## Shared heading

Shared text.

## Wick of the part

Of the other part.

{props.children}
"""
