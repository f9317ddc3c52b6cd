class InvoiceMailer
  def deliver_overdue_reminders(today)
    Invoice.overdue(today).each { |invoice| remind(invoice.customer) }
  end
end
